# SPDX-License-Identifier: Apache-2.0
# CTT_CXX: whether the C++ compiler supports C++17, required by nvcc and by the
# simulation of CUDA in tests/sim; the conditional CXX17.  The project itself is
# C.
AC_DEFUN([CTT_CXX],
  [AC_LANG_PUSH([C++])
  ctt_save_CXXFLAGS="$CXXFLAGS"
  CXXFLAGS="$CXXFLAGS -std=c++17"
  AC_CACHE_CHECK([whether $CXX compiles C++17], [ctt_cv_cxx17],
    [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[]],
        [[if constexpr (sizeof(char) == 1) return 0;]])],
      [ctt_cv_cxx17=yes], [ctt_cv_cxx17=no])])
  CXXFLAGS="$ctt_save_CXXFLAGS"
  AC_LANG_POP([C++])
  ctt_cxx17="$ctt_cv_cxx17"
  AM_CONDITIONAL([CXX17], [test "$ctt_cxx17" = yes])])
