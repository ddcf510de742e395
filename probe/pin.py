import ctypes, glob, os
cands = glob.glob('/usr/local/cuda*/lib64/libcudart.so*') + glob.glob('/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcudart.so*')
rt = ctypes.CDLL(sorted(cands)[0])
V = ctypes.c_void_p; S = ctypes.c_size_t
rt.cudaHostRegister.argtypes = [V, S, ctypes.c_uint]; rt.cudaHostUnregister.argtypes = [V]
rt.cudaMalloc.argtypes = [ctypes.POINTER(V), S]; rt.cudaMemcpy.argtypes = [V, V, S, ctypes.c_int]
libc = ctypes.CDLL(None); libc.aligned_alloc.restype = V; libc.aligned_alloc.argtypes = [S, S]
p = libc.aligned_alloc(4096, 1 << 20); ctypes.memset(p, 1, 1 << 20)
d = V(); print('malloc', rt.cudaMalloc(ctypes.byref(d), 1 << 20))
print('reg [100, 10100)', rt.cudaHostRegister(p + 100, 10000, 3))
print('copy inside', rt.cudaMemcpy(d, p + 100, 10000, 1))
print('copy after exact end, same page', rt.cudaMemcpy(d, p + 10100, 100, 1))
print('copy from after exact end over several pages', rt.cudaMemcpy(d, p + 10100, 50000, 1))
print('copy straddling the end', rt.cudaMemcpy(d, p + 10000, 5000, 1))
print('copy straddling the begin', rt.cudaMemcpy(d, p, 5000, 1))
print('reg neighbour on the same page [10100, 30100)', rt.cudaHostRegister(p + 10100, 20000, 3))
print('copy over both', rt.cudaMemcpy(d, p + 100, 30000, 1))
print('unreg first', rt.cudaHostUnregister(p + 100))
print('copy second', rt.cudaMemcpy(d, p + 10100, 20000, 1))
print('reg overlapping [20100, 40100)', rt.cudaHostRegister(p + 20100, 20000, 3))
print('reg far, exact pages', rt.cudaHostRegister(p + 65536, 8192, 3))
print('copy from before it over its begin', rt.cudaMemcpy(d, p + 61000, 8192, 1))
print('copy over it wholly', rt.cudaMemcpy(d, p + 61000, 30000, 1))
