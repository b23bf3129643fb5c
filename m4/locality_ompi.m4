# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# LOCALITY_OMPI_PATH(NAME, VARIABLE)
# Where the Open MPI found keeps NAME.
AC_DEFUN([LOCALITY_OMPI_PATH], [
    $2=`"$OMPI_INFO" --parsable --path $1 2>/dev/null | sed -n 's/^path:$1://p'`
    AS_IF([test -z "$$2"], [AC_MSG_ERROR([$OMPI_INFO does not tell its $1])])
])

# LOCALITY_CHECK_OMPI
# Find the installed Open MPI that the drop-in components are built for. Sets locality_ompi_version,
# OMPI_CPPFLAGS, OMPI_LDFLAGS, OMPI_LIBS.
AC_DEFUN([LOCALITY_CHECK_OMPI], [
    AC_ARG_WITH([ompi], [AS_HELP_STRING([--with-ompi=PREFIX],
        [build the drop-in components for the Open MPI installed in PREFIX; "no" builds the cores
         only @<:@the ompi_info in PATH, if any@:>@])], [], [with_ompi=auto])
    AC_ARG_WITH([ompi-source], [AS_HELP_STRING([--with-ompi-source=DIR],
        [source tree of the same release: needed for pml/llamatch, and for headers that an
         installation lacks])], [], [with_ompi_source=no])

    locality_ompi_summary="none (--with-ompi=PREFIX names one)"
    locality_ompi_version=
    # make distcheck configures in the same way
    AC_SUBST([with_ompi])
    AC_SUBST([with_ompi_source])
    AS_CASE([$with_ompi],
        [no], [OMPI_INFO=],
        [auto|yes], [AC_PATH_PROG([OMPI_INFO], [ompi_info])],
        [OMPI_INFO="$with_ompi/bin/ompi_info"])
    AS_IF([test "$with_ompi" != no && test "$with_ompi" != auto && test ! -x "$OMPI_INFO"],
        [AC_MSG_ERROR([there is no Open MPI in $with_ompi (looked for bin/ompi_info): install it
(Debian: openmpi-bin libopenmpi-dev) or name the right PREFIX with --with-ompi=PREFIX])])

    AS_IF([test -n "$OMPI_INFO"], [
        AC_MSG_CHECKING([for the release of Open MPI])
        locality_ompi_version=`"$OMPI_INFO" --version 2>/dev/null | sed -n 's/^Open MPI v\([[0-9.]]*\).*/\1/p'`
        AC_MSG_RESULT([$locality_ompi_version])
        AS_CASE([$locality_ompi_version],
            [4.1.*|5.0.*|6.0.*], [],
            [AS_IF([test "$with_ompi" = auto],
                [locality_ompi_summary="$locality_ompi_version is not supported (4.1, 5.0 and 6.0 are)"
                 locality_ompi_version=],
                [AC_MSG_ERROR([Open MPI $locality_ompi_version is not supported: 4.1, 5.0 and 6.0 are])])])])
    AS_IF([test -n "$locality_ompi_version"], [
        _LOCALITY_OMPI_SOURCE
        _LOCALITY_OMPI_HEADERS])
    AM_CONDITIONAL([BUILD_OSC_CACHED], [test -n "$locality_ompi_version"])
    AS_IF([test -n "$locality_ompi_version"], [locality_build_osc=yes], [locality_build_osc=no])
])

# The source tree given: is it one, and of the same release?
AC_DEFUN([_LOCALITY_OMPI_SOURCE], [
    locality_source=
    AS_IF([test "$with_ompi_source" != no], [
        AC_MSG_CHECKING([for the release of the source tree])
        locality_source=`cd "$with_ompi_source" 2>/dev/null && pwd`
        AS_IF([test ! -f "$locality_source/VERSION" || test ! -d "$locality_source/ompi/mca/pml/ob1"],
            [AC_MSG_RESULT([none])
             AC_MSG_ERROR([$with_ompi_source is not a source tree of Open MPI])])
        with_ompi_source=$locality_source
        locality_source_version=`sed -n -e 's/^major=//p;s/^minor=//p;s/^release=//p' "$locality_source/VERSION" | tr '\n' '.' | sed 's/\.$//'`
        AC_MSG_RESULT([$locality_source_version])
        AS_IF([test "$locality_source_version" != "$locality_ompi_version"],
            [AC_MSG_ERROR([the source tree is Open MPI $locality_source_version, but $locality_ompi_version is installed: give the source of the same release])])])
])

# _LOCALITY_TRY_HEADERS(CPPFLAGS, IF_COMPLETE)
# All that osc/cached includes: opal/util/proc.h wants the pmix.h that Open MPI was built with.
AC_DEFUN([_LOCALITY_TRY_HEADERS], [
    locality_saved_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
        #include "ompi_config.h"
        #include "opal/mca/base/mca_base_component_repository.h"
        #include "opal/util/info_subscriber.h"
        #include "opal/util/proc.h"
        #include "ompi/mca/osc/base/base.h"
        #include "ompi/win/win.h"
    ]])], [$2])
    CPPFLAGS=$locality_saved_CPPFLAGS
])

# The developer headers of the Open MPI found: complete, or completed from its source tree, or by
# our own words for those that Debian 13 lacks.
AC_DEFUN([_LOCALITY_OMPI_HEADERS], [
    LOCALITY_OMPI_PATH([incdir], [locality_incdir])
    LOCALITY_OMPI_PATH([pkgincludedir], [locality_pkgincludedir])
    LOCALITY_OMPI_PATH([libdir], [locality_libdir])
    LOCALITY_OMPI_PATH([pkglibdir], [locality_pkglibdir])
    LOCALITY_OMPI_PATH([bindir], [locality_bindir])
    LOCALITY_OMPI_PATH([mandir], [locality_mandir])
    # Only libmpi, through which the others are found, and functions when they are first called: so
    # another release can load the component, which then declines by itself. libmpi has the same
    # soname in 4.1, 5.0 and 6.0, libopen-pal has not.
    OMPI_LDFLAGS="-L$locality_libdir -Wl,-z,lazy"
    OMPI_LIBS="-lmpi"

    # Another compiler than Open MPI's own may lack a type that its headers name (clang 14 on x86_64, with an Open MPI
    # that GCC has compiled). Nothing here uses it: one of the same size and alignment will do.
    AC_CHECK_TYPE([_Float16], [locality_float16=], [locality_float16="-D_Float16=short"])
    AC_MSG_CHECKING([for the developer headers of Open MPI $locality_ompi_version])
    # where an Open MPI that was built with the system's PMIx has its pmix.h
    locality_installed="$locality_float16 -isystem $locality_pkgincludedir -isystem $locality_incdir"
    locality_pkg_pmix=`pkg-config --cflags-only-I pmix 2>/dev/null | sed 's/-I */-isystem /g'`
    locality_debian_pmix=$locality_libdir/../../pmix2/include
    AS_IF([test -d "$locality_debian_pmix"],
        [locality_debian_pmix="-isystem `cd "$locality_debian_pmix" && pwd`"],
        [locality_debian_pmix=])
    locality_of_source=
    AS_IF([test -n "$locality_source"],
        [locality_of_source="-idirafter $locality_source -idirafter $locality_source/opal/include -idirafter $locality_source/ompi/include"])
    locality_of_ours="-idirafter `cd "$srcdir" && pwd`/mca-osc-cached/headers"
    locality_headers=no
    for locality_pmix in "" "$locality_pkg_pmix" "$locality_debian_pmix"; do
        AS_IF([test "$locality_headers" = no],
            [_LOCALITY_TRY_HEADERS([$locality_installed $locality_pmix],
                [locality_headers=yes OMPI_CPPFLAGS="$locality_installed $locality_pmix $locality_of_source"])])
        AS_IF([test "$locality_headers" = no && test -n "$locality_of_source"],
            [_LOCALITY_TRY_HEADERS([$locality_installed $locality_pmix $locality_of_source],
                [locality_headers="yes, some from $locality_source"
                 OMPI_CPPFLAGS="$locality_installed $locality_pmix $locality_of_source"])])
        AS_IF([test "$locality_headers" = no],
            [_LOCALITY_TRY_HEADERS([$locality_installed $locality_pmix $locality_of_ours],
                [locality_headers="yes, with our replacement of two that are not installed (mca-osc-cached/headers)"
                 OMPI_CPPFLAGS="$locality_installed $locality_pmix $locality_of_ours"])])
    done
    AC_MSG_RESULT([$locality_headers])

    locality_ompi_summary="$locality_ompi_version in $locality_libdir"
    AS_IF([test "$locality_headers" = no], [
        AS_IF([test "$with_ompi" != auto], [
            AC_MSG_ERROR([Open MPI $locality_ompi_version is installed without the developer headers
that a component needs. One of these helps:
  - Debian, Ubuntu: apt-get install libopenmpi-dev libpmix-dev
  - an Open MPI of your own: configure it with --with-devel-headers and install it again
  - 5.0.x lacks a few of them even then: unpack its source and add --with-ompi-source=DIR
config.log tells which header was missed.])])
        locality_ompi_summary="$locality_ompi_version without developer headers (libopenmpi-dev, or --with-ompi-source=DIR)"
        locality_ompi_version=])
    # for programs: it knows how they find its libmpi
    AS_IF([test -x "$locality_bindir/mpicc.openmpi"], [OMPI_MPICC=$locality_bindir/mpicc.openmpi],
        [OMPI_MPICC=$locality_bindir/mpicc])
    AC_SUBST([OMPI_MPICC])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([OMPI_LDFLAGS])
    AC_SUBST([OMPI_LIBS])
])

# LOCALITY_CHECK_HWLOC
# pml/llamatch finds a place for its heater with hwloc: the system's, or the one that came with the
# Open MPI found. Sets HWLOC_CPPFLAGS, HWLOC_LIBS.
AC_DEFUN([LOCALITY_CHECK_HWLOC], [
    locality_have_hwloc=no
    HWLOC_CPPFLAGS=
    HWLOC_LIBS=-lhwloc
    AC_MSG_CHECKING([for hwloc 2])
    locality_saved_CPPFLAGS=$CPPFLAGS
    locality_saved_LIBS=$LIBS
    for locality_where in system ${locality_incdir:+ompi}; do
        AS_IF([test $locality_where = ompi],
            [HWLOC_CPPFLAGS="-isystem $locality_incdir"
             HWLOC_LIBS="-L$locality_libdir -lhwloc"])
        CPPFLAGS="$locality_saved_CPPFLAGS $HWLOC_CPPFLAGS"
        LIBS="$HWLOC_LIBS $locality_saved_LIBS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hwloc.h>]],
            [[hwloc_topology_t t; return hwloc_topology_init(&t) || hwloc_obj_type_is_dcache(0);]])],
            [locality_have_hwloc=yes
             break])
    done
    CPPFLAGS=$locality_saved_CPPFLAGS
    LIBS=$locality_saved_LIBS
    AC_MSG_RESULT([$locality_have_hwloc])
    AC_SUBST([HWLOC_CPPFLAGS])
    AC_SUBST([HWLOC_LIBS])
    AM_CONDITIONAL([HAVE_HWLOC], [test $locality_have_hwloc = yes])
])

# LOCALITY_CHECK_LLAMATCH
# pml/llamatch is generated from the ob1 of the same release.
AC_DEFUN([LOCALITY_CHECK_LLAMATCH], [
    locality_build_pml="no (--with-ompi-source=DIR names the source tree it is generated from)"
    OMPI_SOURCE=
    LLAMATCH_CFLAGS=
    AS_IF([test $locality_have_hwloc = no],
        [locality_build_pml="no (it needs hwloc; Debian: libhwloc-dev)"],
        [AS_CASE([$locality_ompi_version], [6.*], [:], [false])],
        [locality_build_pml="no (not made for the pml/ob1 of Open MPI 6.0 yet; osc/cached is built)"],
        [test -n "$locality_ompi_version" && test -n "$locality_source"], [
        OMPI_SOURCE=$locality_source
        locality_build_pml=yes
        # 16-byte compare-and-swap is an instruction set extension on x86-64
        AS_CASE([$host_cpu], [x86_64], [LLAMATCH_CFLAGS=-mcx16])])
    AC_SUBST([OMPI_SOURCE])
    AC_SUBST([LLAMATCH_CFLAGS])
    AM_CONDITIONAL([BUILD_PML_LLAMATCH], [test -n "$OMPI_SOURCE"])
    AS_CASE([$locality_ompi_version], [4.1.*], [locality_ompi_series=4.1], [locality_ompi_series=5.0])
    AM_CONDITIONAL([OMPI_41], [test "$locality_ompi_series" = 4.1])
])

# LOCALITY_CHECK_UCX
# The helper of osc/cached is built where UCX's headers are found, else left out.
AC_DEFUN([LOCALITY_CHECK_UCX], [
    AC_ARG_WITH([ucx], [AS_HELP_STRING([--with-ucx@<:@=DIR@:>@],
        [build the helper of osc/cached, with the headers of UCX in DIR/include; --without-ucx: leave it out
         @<:@where they are found@:>@])], [], [with_ucx=auto])
    locality_build_helper=no
    AS_IF([test "$with_ucx" = no],
        [locality_build_helper="no (--without-ucx)"
         OMPI_CPPFLAGS="$OMPI_CPPFLAGS -DOSC_CACHED_WITHOUT_UCX=1"],
        [test $locality_build_osc = yes], [
        locality_saved_CPPFLAGS=$CPPFLAGS
        CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"
        AS_CASE([$with_ucx], [yes|auto], [], [
            OMPI_CPPFLAGS="-isystem $with_ucx/include $OMPI_CPPFLAGS"
            CPPFLAGS="-isystem $with_ucx/include $CPPFLAGS"])
        AC_CHECK_HEADER([ucp/api/ucp.h], [locality_build_helper=yes],
            [AS_IF([test "$with_ucx" != auto], [AC_MSG_ERROR([--with-ucx=$with_ucx: there is no ucp/api/ucp.h])])
             locality_build_helper="no (it needs the headers of UCX; Debian: libucx-dev)"])
        CPPFLAGS=$locality_saved_CPPFLAGS])
])

# LOCALITY_COMPONENT_FOLDER
# Where make install puts the components: a place where Open MPI finds them without being told,
# unless the user names another one.
AC_DEFUN([LOCALITY_COMPONENT_FOLDER], [
    AC_ARG_WITH([component-dir], [AS_HELP_STRING([--with-component-dir=DIR],
        [install the components in DIR; "user" is ~/.openmpi/components @<:@the directory of the
         installed Open MPI if you may write there and give no other --prefix, else without
         --prefix ~/.openmpi/components, with it LIBDIR/openmpi@:>@])], [], [with_component_dir=auto])
    AS_CASE([$with_component_dir],
        [user], [componentdir="$HOME/.openmpi/components"],
        [auto], [
            AS_IF([test "$prefix" != NONE && test "$prefix" != "$with_ompi"],
                    [componentdir='$(libdir)/openmpi'],
                [test -n "$locality_ompi_version" && test -w "$locality_pkglibdir"],
                    [componentdir=$locality_pkglibdir],
                [componentdir="$HOME/.openmpi/components"])],
        [componentdir=$with_component_dir])
    AC_SUBST([componentdir])
    # The command ompi-locality, and its man pages: below the prefix, or where the components belong to.
    commanddir='$(bindir)'
    locality_man_pages=yes
    AS_IF([test "$prefix" = NONE], [AS_CASE([$componentdir],
        ["$locality_pkglibdir"], [commanddir=$locality_bindir mandir=$locality_mandir],
        ["$HOME/.openmpi/components"], [commanddir=$HOME/.local/bin mandir=$HOME/.local/share/man],
        [commanddir=$componentdir locality_man_pages=no])])
    AC_SUBST([commanddir])

    # for the summary; autoconf expands libdir only in the Makefile
    locality_folder=$componentdir
    AS_CASE([$componentdir], ['$(libdir)'*], [
        locality_libdir_of_prefix=`echo "$libdir" | sed -e "s|.{exec_prefix}|$prefix|" -e "s|.{prefix}|$prefix|"`
        locality_folder=$locality_libdir_of_prefix/openmpi])
    _LOCALITY_COMPONENT_SETTINGS
    locality_component_summary="the components in $locality_folder
$locality_settings"
    # make install says it again
    AC_CONFIG_COMMANDS([component-settings], [AS_ECHO(["$locality_settings"]) >component-settings],
        [locality_settings='$locality_settings'])
])

# What has to be set so that mpirun finds the components in locality_folder; empty: nothing. The
# path of Open MPI is PMIx's too, which has no use for our components and says so.
AC_DEFUN([_LOCALITY_COMPONENT_SETTINGS], [
    locality_settings=
    AS_CASE([$locality_folder],
        ["$locality_pkglibdir"], [locality_default=yes locality_path=$locality_pkglibdir],
        ["$HOME/.openmpi/components"], [locality_default=yes locality_path=$locality_folder:$locality_pkglibdir],
        [locality_default=no locality_path=$locality_folder:$locality_pkglibdir])
    # Debian 13's PMIx exports its own path to Open MPI: both default directories are lost. That of Debian
    # forky does not.
    locality_pmix_folder=$locality_libdir/pmix
    locality_hides=
    AS_IF([test -d "$locality_libdir/../../pmix2/lib/pmix"], [
        locality_pmix_folder=`cd "$locality_libdir/../../pmix2/lib/pmix" && pwd`
        locality_pmix_params=`cd "$locality_libdir/../../pmix2" && pwd`/share/pmix-mca-params.conf
        AS_CASE([$locality_ompi_version], [5.0.*], [
            AS_IF([grep '^ *mca_base_component_path *=' "$locality_pmix_params" >/dev/null 2>&1],
                [locality_hides=$locality_pmix_params])])])
    AS_IF([test -n "$locality_ompi_version" && test "$locality_default$locality_hides" != yes], [
        locality_settings="  mpirun finds them with these settings:
      export OMPI_MCA_mca_base_component_path=$locality_path"
        AS_CASE([$locality_ompi_version], [4.1.*], [], [locality_settings="$locality_settings
      export PMIX_MCA_mca_base_component_path=$locality_pmix_folder"])
        AS_IF([test "$locality_default" = yes], [locality_settings="$locality_settings
  or, for all users, with this line of PMIx commented out, which hides both default directories:
      mca_base_component_path   in $locality_hides"])])
])
