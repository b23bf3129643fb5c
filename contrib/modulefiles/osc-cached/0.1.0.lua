-- Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
-- SPDX-License-Identifier: BSD-3-Clause
--
-- Programs that follow are run as with mpirun --mca osc cached.

whatis("what MPI_Get fetched is kept: mpirun --mca osc cached for all programs that follow")
depends_on("ompi-locality")
setenv("OMPI_MCA_osc", "cached")
