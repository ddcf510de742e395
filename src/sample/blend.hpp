// What was predicted and what was counted, as one score.
#pragma once
#include <cstdint>
#include <vector>

namespace garner {

// Seed of the mini-batches that `sampled` pre-samples. It differs from any seed of a training, so the two are independent.
inline constexpr std::uint64_t presampling_seed = 0x70726573616d706c;

// `score`: expected accesses an epoch; becomes the blend. `weighted`: of the same vertices weighted reverse PageRank, or nothing;
// `counts`: how often `epochs` epochs of `batches` mini-batches read each row.
void blend(std::vector<float>& score, std::vector<float> const& weighted, std::vector<std::uint32_t> const& counts, std::uint64_t batches,
           std::uint64_t epochs);

}  // namespace garner
