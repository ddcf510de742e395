// A tensor file whole, as checkpoints are written.
#pragma once
#include "core/publish.hpp"
#include "files/safetensors.hpp"

namespace garner::testing {

inline void write_tensors(std::filesystem::path const& file, std::span<file_tensor const> tensors, file_metadata const& metadata) {
  tensor_head const head = head_of(file.string(), tensors, metadata);
  pending_file out(file);
  out.write(head.bytes);
  for (tensor_head::part const& p : head.order) out.write(tensors[p.tensor].data, p.bytes);
  out.commit();
}

}  // namespace garner::testing
