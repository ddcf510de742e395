# A toolchain for wheels: this machine's compiler with the C library of an older system (tools/sysroot makes the folder), so the result
# runs with that C library or any newer one. GARNER_PORTABLE selects what is then linked statically.
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/portable.cmake -DGARNER_SYSROOT=FOLDER ...
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GARNER_SYSROOT)
set(CMAKE_SYSROOT ${GARNER_SYSROOT})
set(GARNER_PORTABLE ON CACHE BOOL "")
# Debian's g++ would search /usr/lib for the C library's files before the sysroot.
file(GLOB at ${CMAKE_SYSROOT}/usr/lib/*-linux-gnu)
get_filename_component(triple "${at}" NAME)
set(CMAKE_CXX_FLAGS_INIT -B${at}/)
set(CMAKE_CUDA_FLAGS_INIT -Xcompiler=--sysroot=${CMAKE_SYSROOT},-B${at}/)
set(older "-Wl,--wrap=exp,--wrap=exp2,--wrap=log,--wrap=log2,--wrap=pow")  # see older_libc.cpp
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "--sysroot=${CMAKE_SYSROOT} -B${at}/ -L${at} -L${CMAKE_SYSROOT}/lib/${triple} -static-libstdc++ ${older}")
endforeach()
# cmake/garner.map hides the symbols of libgarner.so, except those that program and module share: the exception in flight.
foreach(kind EXE MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -Wl,--exclude-libs,ALL")
endforeach()
foreach(language CXX CUDA)
  set(CMAKE_${language}_STANDARD_LIBRARIES_INIT "-lpthread -ldl")  # for the static libstdc++ and older_libc.cpp
endforeach()
# Libraries come from the sysroot; the CUDA toolkit does not.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
foreach(kind PACKAGE LIBRARY INCLUDE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} BOTH)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
