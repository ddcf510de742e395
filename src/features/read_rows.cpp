// Tables of feature rows from .npy files.
#include "core/crew.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "features/npy.hpp"
#include "garner/features.hpp"
#include "memory/buffer.hpp"

namespace garner {

namespace {

element element_of(std::string const& file, std::string_view descr) {
  if (descr == "<f4") return element::f32;
  if (descr == "<f2") return element::f16;
  if (descr == "<i8") return element::i64;
  if (descr == "|i1" || descr == "<i1") return element::i8;
  if (descr == "|u1" || descr == "<u1") return element::u8;
  fail(errc::input,
       "{}: elements are '{}'; a table holds <f4, <f2, <i8, |i1 or |u1 (bf16 as two-byte words has no name in this format); write it "
       "with numpy.save(file, table.astype('<f4')), or give the array itself",
       file, descr);
}

}  // namespace

row_array read_rows(std::filesystem::path const& path) {
  npy_file const file(path);
  row_array table;
  table.kind = element_of(file.name(), file.type());
  if (file.shape().size() > 2)
    fail(errc::input, "{}: has {} dimensions; a table has 2 (rows, elements of a row), or 1 for rows of one element", file.name(),
         file.shape().size());
  table.rows = file.rows();
  table.width = file.row_bytes() / bytes_of(table.kind);
  std::uint64_t const bytes = table.rows * file.row_bytes(), at = file.head_bytes();

  auto const memory = std::make_shared<memory_block>(tier::host, bytes, -1, "a table of features");
  progress told("reading rows", bytes);
  shared_crew().run(bytes, 8u << 20, [&](std::uint64_t a, std::uint64_t b) {
    file.read(static_cast<char*>(memory->data()) + a, b - a, at + a);
    told.advance(b - a);
  });
  table.data = memory->data();
  table.owner = std::shared_ptr<void const>(memory, memory->data());
  return table;
}

}  // namespace garner
