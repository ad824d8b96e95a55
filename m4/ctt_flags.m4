# SPDX-License-Identifier: Apache-2.0
# CTT_FLAGS: WARN, FLOAT and SANITIZE, the flags every file is compiled with;
# WARN_CXX: without the warnings about prototypes, for C++.
AC_DEFUN([CTT_FLAGS],
  [AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make every warning an error])])
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize@<:@=thread@:>@],
      [find bad memory accesses and undefined behaviour at run time, or data
       races])])
  WARN="-Wall -Wextra -Wshadow -Wmissing-prototypes"
  WARN="$WARN -Wno-missing-field-initializers"
  AS_IF([test "x$enable_werror" = xyes], [WARN="$WARN -Werror"])
  WARN_CXX=`AS_ECHO(["$WARN"]) | sed 's/ -Wmissing-prototypes//'`
  # Contraction would give other bits in each instruction set; errno of sqrtf
  # is what keeps it from being one instruction, and traps are what keeps a
  # choice between two numbers from being vectorised.
  FLOAT="-ffp-contract=off -fno-math-errno -fno-trapping-math"
  SANITIZE= ctt_sanitize=no
  AS_CASE([$enable_sanitize], [""|yes|no|thread], [],
    [AC_MSG_ERROR([--enable-sanitize=$enable_sanitize: yes or thread])])
  AS_IF([test "x$enable_sanitize" = xyes],
    [ctt_sanitize="address, undefined"
    SANITIZE="-fsanitize=address,undefined"
    SANITIZE="$SANITIZE -fno-sanitize-recover=undefined"
    SANITIZE="$SANITIZE -fno-omit-frame-pointer"])
  AS_IF([test "x$enable_sanitize" = xthread],
    [ctt_sanitize="thread"
    SANITIZE="-fsanitize=thread -fno-omit-frame-pointer"])
  AM_CONDITIONAL([TSAN], [test "$ctt_sanitize" = thread])
  # libFuzzer (clang only), its coverage and that of llvm-cov; with sanitizers.
  AC_ARG_ENABLE([fuzzer],
    [AS_HELP_STRING([--enable-fuzzer],
      [build tests/fuzz with libFuzzer, for make fuzz (clang only)])])
  AS_IF([test "x$enable_fuzzer" = xyes],
    [ctt_sanitize="fuzzer, $ctt_sanitize"
    SANITIZE="$SANITIZE -fsanitize=fuzzer-no-link"
    SANITIZE="$SANITIZE -fprofile-instr-generate -fcoverage-mapping"
    FUZZ_ENGINE="-fsanitize=fuzzer"])
  AC_SUBST([FUZZ_ENGINE])
  AM_CONDITIONAL([FUZZER], [test "x$enable_fuzzer" = xyes])
  AM_CONDITIONAL([SANITIZERS], [test "$ctt_sanitize" != no])
  AC_SUBST([WARN])
  AC_SUBST([WARN_CXX])
  AC_SUBST([FLOAT])
  AC_SUBST([SANITIZE])])
