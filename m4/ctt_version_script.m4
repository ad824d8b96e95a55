# SPDX-License-Identifier: Apache-2.0
# CTT_VERSION_SCRIPT: whether the linker takes versions of symbols; without them
# libconvtt-infer exports the same names.
AC_DEFUN([CTT_VERSION_SCRIPT],
  [AC_CACHE_CHECK([for versions of symbols], [ctt_cv_version_script],
    [ctt_save_LDFLAGS="$LDFLAGS"
    echo 'CTT_0 { global: ctt_*; local: *; };' > conftest.map
    LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[int ctt_one(void); int ctt_one(void)
                                     { return 1; }]])],
      [ctt_cv_version_script=yes], [ctt_cv_version_script=no])
    LDFLAGS="$ctt_save_LDFLAGS"
    rm -f conftest.map])
  AM_CONDITIONAL([VERSION_SCRIPT], [test "$ctt_cv_version_script" = yes])])
