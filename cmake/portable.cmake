# A toolchain for wheels: the compiler of this machine over the C library of an older one (tools/sysroot makes the folder), so that what is
# built runs wherever that C library or a newer one is. GARNER_PORTABLE says what is then linked statically.
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/portable.cmake -DGARNER_SYSROOT=FOLDER ...
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GARNER_SYSROOT)
set(CMAKE_SYSROOT ${GARNER_SYSROOT})
set(GARNER_PORTABLE ON CACHE BOOL "")
# Debian's g++ would look into /usr/lib for the files of the C library, before it looks into the sysroot.
file(GLOB at ${CMAKE_SYSROOT}/usr/lib/*-linux-gnu)
get_filename_component(triple "${at}" NAME)
set(CMAKE_CXX_FLAGS_INIT -B${at}/)
set(CMAKE_CUDA_FLAGS_INIT -Xcompiler=--sysroot=${CMAKE_SYSROOT},-B${at}/)
set(older "-Wl,--wrap=exp,--wrap=exp2,--wrap=log,--wrap=log2,--wrap=pow")  # see older_libc.cpp
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "--sysroot=${CMAKE_SYSROOT} -B${at}/ -L${at} -L${CMAKE_SYSROOT}/lib/${triple} -static-libstdc++ ${older}")
endforeach()
# Of libgarner.so cmake/garner.map hides them, but for what program and module share: which exception is being handled.
foreach(kind EXE MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -Wl,--exclude-libs,ALL")
endforeach()
foreach(language CXX CUDA)
  set(CMAKE_${language}_STANDARD_LIBRARIES_INIT "-lpthread -ldl")  # of the static libstdc++ and older_libc.cpp
endforeach()
# What is there is taken from the sysroot; the CUDA toolkit is not.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
foreach(kind PACKAGE LIBRARY INCLUDE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} BOTH)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
