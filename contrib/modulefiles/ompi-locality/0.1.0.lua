-- Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
-- SPDX-License-Identifier: BSD-3-Clause
--
-- Open MPI finds the components below the prefix that this file is installed in:
-- PREFIX/share/modulefiles/ompi-locality/VERSION.lua. Nothing is switched on by it.

help([[osc/cached and pml/llamatch can be used: mpirun --mca osc cached, mpirun --mca pml llamatch.
The modules osc-cached and pml-llamatch switch them on for all programs that follow.]])
whatis("data locality for Open MPI: its components osc/cached and pml/llamatch")

local prefix = myFileName():gsub("/[^/]*/[^/]*/[^/]*/[^/]*$", "")
local components = prefix .. "/lib/openmpi"
if not isDir(components) then
    components = prefix .. "/lib64/openmpi"
end
if not isDir(components) then
    LmodError("there are no components in " .. prefix .. "/lib/openmpi")
end
setenv("OMPI_MCA_mca_base_component_path", components .. ":SYSTEM_DEFAULT:USER_DEFAULT")
-- PMIx would read the line above as well.
setenv("PMIX_MCA_mca_base_component_path", "")
prepend_path("PATH", prefix .. "/bin")
prepend_path("MANPATH", prefix .. "/share/man:")
