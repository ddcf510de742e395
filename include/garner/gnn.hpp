// Models over graphs (GCN, GraphSAGE, GIN), trained by mini-batches or on the whole graph, and inferred exactly, whatever tier rows lie in.
// Sources: Kipf and Welling, ICLR 2017 (GCN); Hamilton et al., NeurIPS 2017 (GraphSAGE); Xu et al., ICLR 2019 (GIN); Kingma and Ba, ICLR
// 2015 (Adam).
#pragma once
#include <cstdint>
#include <string_view>

namespace garner {

// How dense products are rounded on a device that has the units for it: as f32; factors to TF32 or bf16 first, sums in f32. The host has
// f32.
enum class dense_math : std::uint8_t { f32, tf32, bf16 };
std::string_view to_string(dense_math math);
dense_math parse_dense_math(std::string_view text);  // errc::usage with the choices otherwise

}  // namespace garner
