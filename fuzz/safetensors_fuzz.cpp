// Tensor files, and checkpoints. Random bytes rarely match the lengths that they declare, so the first byte selects how to
// use the rest:
//   0:  the rest is the file, as it is.
//   1:  the rest is the header, with its length inserted in front; the second byte is the number of bytes after it.
//   2:  the same, and the checksum of a checkpoint is corrected, if it has one.
// Parsed tensors cover the data completely and survive a round trip. The checkpoint reader never crashes on them: it reads
// the same arrays or reports an error.
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "files/checkpoint.hpp"
#include "files/safetensors.hpp"
#include "works.hpp"

namespace {

using namespace garner;

void put(int fd, std::string const& bytes) {
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<::ssize_t>(bytes.size())) std::abort();
}

void seal(std::string& bytes) {
  std::string const key = "\"garner.checksum\":\"";
  std::size_t const at = bytes.find(key) + key.size();
  if (at < key.size() || at + 16 > bytes.size()) return;
  bytes.replace(at, 16, 16, '0');
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
  bytes.replace(at, 16, digits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static int const fd = ::memfd_create("input", MFD_CLOEXEC);
  static std::string const file = "/proc/self/fd/" + std::to_string(fd);
  if (size < 2) return 0;
  std::string bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  if (data[0] % 3 != 0) {
    std::uint64_t const length = size - 2;
    bytes.replace(0, 1, reinterpret_cast<char const*>(&length), 8);
    bytes.append(data[1], 'd');
    if (data[0] % 3 == 2) seal(bytes);
  }
  put(fd, bytes);

  std::vector<file_tensor> tensors;
  file_metadata metadata;
  std::vector<std::string> contents;
  bool const readable = works([&] {
    tensor_file const in(file);
    std::uint64_t at = 0;
    for (tensor_info const& t : in.tensors()) {
      if (t.begin != at || in.find(t.name) != &t) std::abort();
      at += t.bytes;
      contents.emplace_back(t.bytes, '\0');
      in.read(t, contents.back().data());
      if (bytes.compare(in.head().size() + t.begin, t.bytes, contents.back()) != 0) std::abort();
      tensors.push_back({t.name, t.dtype, t.shape, nullptr});
    }
    if (in.head().size() + at != bytes.size()) std::abort();
    metadata = in.metadata();
  });
  for (auto const kind : {checkpoint::kind::model, checkpoint::kind::checkpoint})
    if (works([&] {
          checkpoint const c = checkpoint::read(file, kind);
          if (c.arrays.size() != tensors.size()) std::abort();
        }) &&
        !readable)
      std::abort();
  if (!readable) return 0;

  tensor_head const head = head_of("input", tensors, metadata);
  if (head.bytes.size() % 64 != 0) std::abort();
  std::string again = head.bytes;
  for (auto const& part : head.order) again += contents[part.tensor];
  put(fd, again);
  tensor_file const in(file);
  if (in.metadata() != metadata || in.tensors().size() != tensors.size()) std::abort();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensor_info const* const t = in.find(tensors[i].name);
    if (!t || t->dtype != tensors[i].dtype || t->shape != tensors[i].shape || t->bytes != contents[i].size()) std::abort();
    if (again.compare(head.bytes.size() + t->begin, t->bytes, contents[i]) != 0) std::abort();
  }
  return 0;
}
