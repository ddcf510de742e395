// What was predicted and what was counted, as one score.
#pragma once
#include <cstdint>
#include <vector>

namespace garner {

// What `sampled` draws its mini-batches from: no seed of the user's, so that it knows nothing of a training that is drawn from one.
inline constexpr std::uint64_t presampling_seed = 0x70726573616d706c;

// `score`: expected accesses an epoch; becomes the blend. `weighted`: of the same vertices weighted reverse PageRank, or nothing;
// `counts`: how often `epochs` epochs of `batches` mini-batches read each row.
void blend(std::vector<float>& score, std::vector<float> const& weighted, std::vector<std::uint32_t> const& counts, std::uint64_t batches,
           std::uint64_t epochs);

}  // namespace garner
