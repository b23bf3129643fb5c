# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# LOCALITY_COMPILER_OPTIONS
# The --enable switches that change how we compile; sets LOCALITY_CFLAGS.
AC_DEFUN([LOCALITY_COMPILER_OPTIONS], [
    LOCALITY_CFLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"

    m4_foreach_w([locality_san], [asan ubsan tsan], [
        AC_ARG_ENABLE(locality_san, [AS_HELP_STRING([--enable-]locality_san,
            [compile with the ]m4_case(locality_san, [asan], [address], [ubsan], [undefined behaviour],
            [thread])[ sanitizer @<:@no@:>@])], [], [AS_VAR_SET([enable_]locality_san, [no])])])
    AS_IF([test "$enable_asan" = yes && test "$enable_tsan" = yes],
        [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other: choose one])])
    AS_IF([test "$enable_asan" = yes],
        [LOCALITY_CFLAGS="$LOCALITY_CFLAGS -fsanitize=address -fno-omit-frame-pointer"])
    AS_IF([test "$enable_ubsan" = yes],
        [LOCALITY_CFLAGS="$LOCALITY_CFLAGS -fsanitize=undefined -fno-sanitize-recover=undefined"])
    AS_IF([test "$enable_tsan" = yes],
        [LOCALITY_CFLAGS="$LOCALITY_CFLAGS -fsanitize=thread -fno-omit-frame-pointer"])

    AC_ARG_ENABLE([debug], [AS_HELP_STRING([--enable-debug],
        [no optimisation, and the cores check their own invariants @<:@no@:>@])], [],
        [enable_debug=no])
    AS_IF([test "$enable_debug" = yes],
        [LOCALITY_CFLAGS="$LOCALITY_CFLAGS -O0 -g3 -DLOCALITY_DEBUG=1"])

    AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror],
        [a warning is an error, in our own sources @<:@no@:>@])], [], [enable_werror=no])
    AS_IF([test "$enable_werror" = yes], [LOCALITY_CFLAGS="$LOCALITY_CFLAGS -Werror"])

    AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage],
        [count executed lines for gcov @<:@no@:>@])], [], [enable_coverage=no])
    AS_IF([test "$enable_coverage" = yes], [LOCALITY_CFLAGS="$LOCALITY_CFLAGS -O0 --coverage"])

    AC_SUBST([LOCALITY_CFLAGS])
])

# LOCALITY_CHECK_CMOCKA
# The unit tests need cmocka; everything else does not.
AC_DEFUN([LOCALITY_CHECK_CMOCKA], [
    locality_have_cmocka="no (install libcmocka-dev to have them in make check)"
    locality_saved_LIBS=$LIBS
    AC_CHECK_LIB([cmocka], [_cmocka_run_group_tests], [
        AC_CHECK_HEADER([cmocka.h], [locality_have_cmocka=yes], [],
            [#include <stdarg.h>
             #include <stddef.h>
             #include <stdint.h>
             #include <setjmp.h>])])
    LIBS=$locality_saved_LIBS
    AM_CONDITIONAL([HAVE_CMOCKA], [test "$locality_have_cmocka" = yes])
    dnl SIMDe emulates the vector instructions of other CPUs in some of them.
    AC_CHECK_HEADER([simde/x86/avx512.h], [locality_have_simde=yes], [locality_have_simde=no])
    AM_CONDITIONAL([HAVE_SIMDE], [test "$locality_have_simde" = yes])
])

# LOCALITY_CHECK_MAN_PAGES
# The man pages are written in Markdown; they are installed where pandoc is found, unless the components
# go to a directory of their own.
AC_DEFUN([LOCALITY_CHECK_MAN_PAGES], [
    AC_CHECK_PROG([PANDOC], [pandoc], [pandoc])
    AM_CONDITIONAL([MAN_PAGES], [test -n "$PANDOC" && test $locality_man_pages = yes])
])
