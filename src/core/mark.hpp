// GARNER_HD marks a function that compiles for both sides; empty in a build without CUDA. GARNER_HD_INLINE marks a small one that is called
// for each edge and that compilers for the host would otherwise not inline.
#pragma once
#if defined(__CUDACC__)
#define GARNER_HD __host__ __device__
#define GARNER_HD_INLINE __host__ __device__ __forceinline__
#else
#define GARNER_HD
#define GARNER_HD_INLINE [[gnu::always_inline]] inline
#endif
