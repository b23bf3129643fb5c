# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

import os

from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *

# The tree that this recipe lies in, seen from this directory.
TREE = os.path.join(*[".."] * 6)

# ompi-patches/5.0/series
PATCHES = (
    "0001-opal-install-threads-and-timer-headers.patch",
    "0002-include-headers-by-installed-path.patch",
    "0003-ompi-install-included-headers.patch",
    "0004-osc-ucx-no-locks-atomics.patch",
    "0005-common-ucx-thread-exit.patch",
    "0006-common-ucx-request-flush-endpoint.patch",
    "0007-common-ucx-close-endpoints.patch",
    "0023-common-ucx-progress-idle-workers.patch",
    "0024-osc-ucx-free-barrier.patch",
    "0008-common-ucx-flush-endpoints.patch",
    "0019-common-ucx-progress-default-worker.patch",
    "0020-common-ucx-worker-threads.patch",
    "0022-common-ucx-fence-progress.patch",
    "0031-osc-ucx-locks-of-threads.patch",
    "0009-pml-ob1-unordered-messages.patch",
    "0010-pml-ob1-overtaking-hint.patch",
    "0011-pml-ob1-revoke-lock.patch",
    "0012-pml-ob1-receive-numbers.patch",
    "0013-pml-ob1-queue-lengths.patch",
    "0025-pml-ob1-any-source-lengths.patch",
    "0014-pml-ob1-extended-header.patch",
    "0015-pml-base-bsend-count.patch",
    "0026-pml-base-bsend-failed.patch",
    "0016-pml-ob1-pending-ack.patch",
    "0021-pml-ob1-probe-failed.patch",
    "0029-pml-ob1-any-source-matched.patch",
    "0030-pml-ob1-freed-communicator.patch",
    "0017-mca-base-pvar-dump.patch",
    "0018-mpiext-cached.patch",
    "0027-mpiext-cached-fortran.patch",
    "0028-mpiext-cached-fortran-2008.patch",
)

# Folder of the tree -> place in Open MPI's
COMPONENTS = {
    "mca-osc-cached": "ompi/mca/osc/cached",
    "mca-pml-llamatch": "ompi/mca/pml/llamatch",
}


class OpenmpiWithLocality(BuiltinOpenmpi):
    """Spack's own Open MPI, which stays as it is, with the variants +locality, Open MPI with our patches and both components,
    and +devel_headers, for openmpi-locality and other components that are built outside."""

    variant(
        "devel_headers",
        default=False,
        description="Install the headers that components built outside of Open MPI need",
    )
    variant(
        "locality",
        default=False,
        when="@5.0.7 fabrics=ucx",
        description="Patches and the components osc/cached and pml/llamatch",
    )

    depends_on("flex", type="build", when="+locality")
    depends_on("pandoc", type="build", when="+locality")
    for _name in PATCHES:
        patch(os.path.join(TREE, "ompi-patches", "5.0", _name), when="+locality")

    @run_before("autoreconf", when="+locality")
    def copy_components(self):
        tree = os.path.join(os.path.dirname(__file__), TREE)
        for folder, place in COMPONENTS.items():
            install_tree(os.path.join(tree, folder), os.path.join(self.stage.source_path, place))

    # The patches and new directories change the build system; a release tarball needs the --force.
    @when("+locality")
    def autoreconf(self, spec, prefix):
        which("perl")("autogen.pl", "--force")

    @run_after("install", when="+locality")
    def install_command(self):
        script = os.path.join(os.path.dirname(__file__), TREE, "contrib", "install-command")
        Executable(script)(self.prefix.bin.mpicc, self.prefix)

    def configure_args(self):
        arguments = super().configure_args()
        if self.spec.satisfies("+devel_headers"):
            arguments.append("--with-devel-headers")
        if self.spec.satisfies("+locality"):
            arguments.append("--enable-mca-dso=osc-cached,pml-llamatch")
        return arguments
