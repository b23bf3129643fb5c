# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *

# The tree that this recipe lies in is what it builds.
TREE = os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 6))

# Releases of Open MPI and their sources: pml/llamatch is made from the ob1 of the same release.
OPENMPI = {
    "4.1.4": "92912e175fd1234368c8730c03f4996fe5942e7479bb1d10059405e7f2b3930d",
    "5.0.7": "119f2009936a403334d0df3c0d74d5595a32d99497f9b1d41e90019fee2fc2dd",
}


class OpenmpiLocality(AutotoolsPackage):
    """Data locality for Open MPI: a cache for one-sided communication (osc/cached) and message
    matching that stays fast when queues are long (pml/llamatch), for an Open MPI that is there."""

    git = f"file://{TREE}"

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pandoc", type="build")
    depends_on("hwloc@2:")
    for _release, _sha256 in OPENMPI.items():
        resource(
            name=f"openmpi-{_release}",
            url="https://download.open-mpi.org/release/open-mpi/"
            f"v{_release.rpartition('.')[0]}/openmpi-{_release}.tar.bz2",
            sha256=_sha256,
            placement="openmpi-source",
            when=f"^openmpi-with-locality@{_release}",
        )
    # Its own variants: fabrics=ucx, because osc/cached stands over osc/ucx, and the developer headers,
    # which Spack's own openmpi cannot install.
    depends_on("openmpi-with-locality@" + ",".join(OPENMPI) + " +devel_headers fabrics=ucx")

    sanity_check_is_file = [
        "bin/ompi-locality",
        "lib/openmpi/mca_osc_cached.so",
        "lib/openmpi/mca_pml_llamatch.so",
        "lib/openmpi/ompi-locality-probe",
        "share/man/man1/ompi-locality.1",
        "share/man/man7/osc_cached.7",
        "share/man/man7/pml_llamatch.7",
    ]

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        return [
            f"--with-ompi={self.spec['openmpi-with-locality'].prefix}",
            f"--with-ompi-source={join_path(self.stage.source_path, 'openmpi-source')}",
            f"--with-component-dir={self.prefix.lib.openmpi}",
        ]

    def setup_run_environment(self, env):
        env.set(
            "OMPI_MCA_mca_base_component_path",
            f"{self.prefix.lib.openmpi}:SYSTEM_DEFAULT:USER_DEFAULT",
        )
        # PMIx would read the one above as well.
        env.set("PMIX_MCA_mca_base_component_path", "")
