// GARNER_HD marks a function that compiles for both sides; empty in a build without CUDA.
#pragma once
#if defined(__CUDACC__)
#define GARNER_HD __host__ __device__
#else
#define GARNER_HD
#endif
