# SPDX-License-Identifier: Apache-2.0
# CTT_CUDA: the module of the CUDA device; NVCC, NVCCFLAGS, CUDA_ARCH,
# CUDA_GENCODE, CUDA_CFLAGS, CUDA_LIBS, CUDA_RPATH (for libtool), CUDA_WARN and
# the conditionals CUDA, NCCL, CUSPARSE and CUSPARSELT.  If something is missing, convtt is
# built without it; with --with-cuda that is an error.  Call after CTT_FLAGS.
AC_DEFUN([CTT_CUDA],
  [AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR|no],
      [CUDA toolkit with cuDNN 9 below DIR (bin, include, lib64) @<:@found by
       nvcc on PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda@:>@])],
    [], [with_cuda=find])
  AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST],
      [GPUs to make code for, and PTX of the last @<:@sm_80;sm_90@:>@])],
    [CUDA_ARCH="$with_cuda_arch"])
  AC_ARG_VAR([CUDA_ARCH], [the same as --with-cuda-arch])
  AC_ARG_VAR([NVCC], [compiler of CUDA C++])
  AC_ARG_VAR([NVCCFLAGS], [its flags])
  CUDA_CFLAGS= CUDA_LIBS= CUDA_RPATH= CUDA_WARN= CUDA_GENCODE= ctt_why= ctt_nccl=no
  ctt_cusparse=no ctt_cusparselt=no
  AS_IF([test "x$with_cuda" = xno], [ctt_cuda=no], [CTT_CUDA_TRY])
  AS_CASE([$with_cuda], [no|find], [],
    [AS_IF([test -n "$ctt_why"], [AC_MSG_ERROR([--with-cuda: $ctt_why])])])
  AC_SUBST([CUDA_CFLAGS])
  AC_SUBST([CUDA_LIBS])
  AC_SUBST([CUDA_RPATH])
  AC_SUBST([CUDA_GENCODE])
  AC_SUBST([CUDA_WARN])
  AM_CONDITIONAL([NCCL], [test "x$ctt_nccl" = xyes])
  AM_CONDITIONAL([CUSPARSE], [test "x$ctt_cusparse" = xyes])
  AM_CONDITIONAL([CUSPARSELT], [test "x$ctt_cusparselt" = xyes])
  AM_CONDITIONAL([CUDA], [test "x$with_cuda" != xno && test -z "$ctt_why"])])

# Each step runs only if the steps before it succeeded.
AC_DEFUN([CTT_CUDA_TRY],
  [CTT_CUDA_NVCC
  AS_IF([test -z "$ctt_why"], [CTT_CUDA_FLAGS])
  AS_IF([test -z "$ctt_why"], [CTT_CUDA_KERNEL])
  AS_IF([test -z "$ctt_why"], [CTT_CUDA_LINK])
  AS_IF([test -z "$ctt_why"],
    [ctt_cuda="$ctt_cuda_version, cuDNN $ctt_cudnn, NCCL $ctt_nccl_version,$ctt_archs + PTX"],
    [ctt_cuda="no ($ctt_why)"])
  AC_MSG_CHECKING([for CUDA])
  AC_MSG_RESULT([$ctt_cuda])])

# NVCC, and the folder of the toolkit from its path, links resolved.
AC_DEFUN([CTT_CUDA_NVCC],
  [AS_CASE([$with_cuda],
    [find|yes],
      [ctt_path="$PATH:$CUDA_HOME/bin:$CUDA_PATH/bin:/usr/local/cuda/bin"],
    [ctt_path="$with_cuda/bin"])
  AC_PATH_PROG([NVCC], [nvcc], [], [$ctt_path])
  AS_IF([test -z "$NVCC"],
    [AS_CASE([$with_cuda], [find|yes], [ctt_why="nvcc not found"],
      [ctt_why="no $with_cuda/bin/nvcc"])],
    [AS_CASE([$with_cuda],
      [find|yes], [ctt_dir=`readlink -f "$NVCC"`
        ctt_dir=`AS_DIRNAME(["$ctt_dir"])`
        ctt_dir=`AS_DIRNAME(["$ctt_dir"])`],
      [ctt_dir="$with_cuda"])])])

# Compiler flags.  nvcc takes -Werror for its own option.
AC_DEFUN([CTT_CUDA_FLAGS],
  [: ${CUDA_ARCH="sm_80;sm_90"}
  ctt_archs= ctt_ptx=
  for ctt_arch in `AS_ECHO(["$CUDA_ARCH"]) | tr ',;' '  '`; do
    ctt_number=`AS_ECHO(["$ctt_arch"]) | sed -n 's/^sm_\(@<:@0-9@:>@*@<:@af@:>@*\)$/\1/p'`
    AS_IF([test -z "$ctt_number"],
      [AC_MSG_ERROR([--with-cuda-arch: '$ctt_arch' is not of the form sm_90])])
    CUDA_GENCODE="$CUDA_GENCODE -gencode=arch=compute_$ctt_number,code=sm_$ctt_number"
    ctt_archs="$ctt_archs $ctt_arch"
    ctt_ptx="-gencode=arch=compute_$ctt_number,code=compute_$ctt_number"
  done
  AS_IF([test -z "$ctt_ptx"], [AC_MSG_ERROR([--with-cuda-arch: no GPU named])])
  CUDA_GENCODE="$CUDA_GENCODE $ctt_ptx"
  AS_IF([test "x$enable_sanitize" = xyes], [: ${NVCCFLAGS="-O1 -lineinfo"}],
    [: ${NVCCFLAGS="-O3 -lineinfo"}])
  CUDA_WARN="-Wall -Wextra -Wshadow -Wno-missing-field-initializers"
  AS_IF([test "x$enable_werror" = xyes],
    [CUDA_WARN="$CUDA_WARN --Werror=all-warnings --compiler-options=-Werror"])
  ctt_lib=
  for ctt_try in "$ctt_dir/targets/x86_64-linux/lib" "$ctt_dir/lib" \
      "$ctt_dir/lib64"; do
    AS_IF([test -e "$ctt_try/libcudart.so"], [ctt_lib="$ctt_try"])
  done
  AS_CASE([$ctt_dir], [/usr|/usr/local], [],
    [AS_IF([test -d "$ctt_dir/include"],
      [CUDA_CFLAGS="-isystem $ctt_dir/include"])])
  AS_CASE([$ctt_lib], [""|/usr/lib*|/lib*], [],
    [CUDA_LIBS="-L$ctt_lib" CUDA_RPATH="-R $ctt_lib"])
  CUDA_LIBS="$CUDA_LIBS -lcudnn -lcublasLt -lcudart -lstdc++"])

# Compiles one kernel for each GPU: does nvcc work with the C++ compiler?
AC_DEFUN([CTT_CUDA_KERNEL],
  [AC_MSG_CHECKING([whether $NVCC works])
  echo '__global__ void k(float *p) { *p += 1; }' > conftest.cu
  AS_IF([test "$ctt_cxx17" != yes],
      [ctt_why="$CXX does not compile C++17"],
    [AC_TRY_COMMAND([$NVCC -ccbin ${CXX%% *} -std=c++17 $CUDA_GENCODE
      -c conftest.cu -o conftest.$ac_objext >&AS_MESSAGE_LOG_FD 2>&1])],
      [],
    [ctt_why="$NVCC with ${CXX%% *} fails, see config.log"])
  AS_IF([test -z "$ctt_why"], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
  rm -f conftest.cu conftest.$ac_objext])

# Headers and libraries, checked with the C compiler.
AC_DEFUN([CTT_CUDA_LINK],
  [ctt_save_LIBS="$LIBS"
  ctt_save_CPPFLAGS="$CPPFLAGS"
  LIBS="$CUDA_LIBS $LIBS"
  CPPFLAGS="$CPPFLAGS $CUDA_CFLAGS"
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cuda_runtime_api.h>]])], [],
    [ctt_why="no cuda_runtime_api.h"])
  AS_IF([test -z "$ctt_why"],
    [AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cudnn.h>
      #if CUDNN_MAJOR < 9
      #error too old
      #endif]])], [], [ctt_why="no cudnn.h of cuDNN 9"])])
  AS_IF([test -z "$ctt_why"],
    [AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cublasLt.h>]])], [],
      [ctt_why="no cublasLt.h"])])
  AS_IF([test -z "$ctt_why"],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cublasLt.h>
      #include <cuda_runtime_api.h>
      #include <cudnn.h>]],
      [[return !cublasLtGetVersion() + !cudnnGetVersion() + cudaFree(0);]])],
      [], [ctt_why="no libcudnn, libcublasLt and libcudart"])])
  AS_IF([test -z "$ctt_why"], [CTT_CUDA_VERSIONS])
  AS_IF([test -z "$ctt_why"], [CTT_CUDA_NCCL])
  AS_IF([test -z "$ctt_why"],
    [AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cusparse.h>
      #if CUSPARSE_VERSION < 12000
      #error too old
      #endif]])], [ctt_cusparse=yes])])
  AS_IF([test "x$ctt_cusparse" = xyes],
    [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdalign.h>
      #include <cusparseLt.h>]],
      [[return CUSPARSELT_VER_MAJOR + CUSPARSE_COMPUTE_32F +
        !&cusparseLtMatmulAlgSelectionDestroy + !&cusparseLtSpMMACompress2;]])],
      [ctt_cusparselt=yes])])
  LIBS="$ctt_save_LIBS"
  CPPFLAGS="$ctt_save_CPPFLAGS"])

AC_DEFUN([CTT_CUDA_VERSIONS],
  [AC_COMPUTE_INT([ctt_major], [CUDART_VERSION / 1000],
    [#include <cuda_runtime_api.h>])
  AC_COMPUTE_INT([ctt_minor], [CUDART_VERSION % 1000 / 10],
    [#include <cuda_runtime_api.h>])
  ctt_cuda_version="$ctt_major.$ctt_minor"
  AC_COMPUTE_INT([ctt_major], [CUDNN_MAJOR], [#include <cudnn.h>])
  AC_COMPUTE_INT([ctt_minor], [CUDNN_MINOR], [#include <cudnn.h>])
  ctt_cudnn="$ctt_major.$ctt_minor"])

# NCCL is loaded when several processes ask for it, so its header is enough.
AC_DEFUN([CTT_CUDA_NCCL],
  [ctt_nccl_version=no
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <nccl.h>
    #if NCCL_VERSION_CODE < 21300
    #error too old
    #endif]])], [ctt_nccl=yes])
  AS_IF([test "$ctt_nccl" = yes],
    [AC_COMPUTE_INT([ctt_major], [NCCL_MAJOR], [#include <nccl.h>])
    AC_COMPUTE_INT([ctt_minor], [NCCL_MINOR], [#include <nccl.h>])
    ctt_nccl_version="$ctt_major.$ctt_minor"])])
