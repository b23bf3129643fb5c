-- Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
-- SPDX-License-Identifier: BSD-3-Clause
--
-- Programs that follow are run as with mpirun --mca osc cached.

whatis("caches the results of MPI_Get, as mpirun --mca osc cached does, for all later programs")
depends_on("ompi-locality")
setenv("OMPI_MCA_osc", "cached")
