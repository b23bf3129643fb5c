-- Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
-- SPDX-License-Identifier: BSD-3-Clause
--
-- Programs that follow are run as with mpirun --mca pml llamatch.

whatis("messages are matched by pml/llamatch: mpirun --mca pml llamatch for all programs that follow")
depends_on("ompi-locality")
setenv("OMPI_MCA_pml", "llamatch")
