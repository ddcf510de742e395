// Tables of feature rows from .npy files.
#include <algorithm>
#include <functional>
#include <numeric>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "features/common_rows.hpp"
#include "features/put_rows.hpp"
#include "features/row_file.hpp"
#include "features/stored_rows.hpp"
#include "files/npy.hpp"
#include "garner/features.hpp"
#include "memory/buffer.hpp"

namespace garner {

namespace {

element element_of(std::string_view descr) {
  if (descr == "<f4") return element::f32;
  if (descr == "<f2") return element::f16;
  if (descr == "<i8") return element::i64;
  if (descr == "|i1" || descr == "<i1") return element::i8;
  if (descr == "bfloat16") return element::bf16;
  return element::u8;
}

}  // namespace

row_array seen_as(row_array rows, element as) try {
  std::uint64_t const each = rows.type_bytes ? rows.type_bytes : bytes_of(rows.kind), wanted = bytes_of(as), bytes = rows.row_bytes();
  std::string const said = rows.type.empty() ? std::string(to_string(rows.kind)) : rows.type;
  if (each != wanted && each != 1 && wanted != 1)
    fail(errc::usage,
         "elements of {} bytes ({}) cannot be seen as {}, which takes {}: nothing is converted; use u8, an element of {} bytes, or convert "
         "the table first",
         each, said, to_string(as), wanted, each);
  if (bytes % wanted) fail(errc::usage, "rows of {} bytes ({}) are not a whole number of {}; use u8", bytes, said, to_string(as));
  if (each != wanted) rows.shape.clear();  // other elements than those it counts
  rows.kind = as;
  rows.width = bytes / wanted;
  rows.type.clear();
  rows.type_bytes = 0;
  return rows;
} catch (...) {
  rethrow_as_error();
}

namespace {

// Reads the header of the file, without its rows.
row_array described(npy_layout const& file, std::optional<element> as) {
  row_array table;
  table.kind = element_of(file.type());
  table.rows = file.rows();
  table.width = file.row_bytes() / bytes_of(table.kind);
  table.shape = file.shape();
  if (table.kind == element::u8 && file.type() != "|u1" && file.type() != "<u1")
    table.type = file.type(), table.type_bytes = file.element_bytes();
  if (as) try {  // before the memory is taken
      table = seen_as(std::move(table), *as);
    } catch (error const& e) {
      fail(e.code(), "{}: {}", file.name(), e.what());
    }
  return table;
}

}  // namespace

row_array map_rows(std::filesystem::path const& path, std::optional<element> as) try {
  if (is_row_file(path)) return read_rows(path, as);
  finish_puts(path, false);
  npy_file const file(path);
  row_array table = described(file, as);
  if (file.head_bytes() % std::max<std::uint64_t>(bytes_of(table.kind), table.type_bytes))  // as no writer of NumPy's lays it
    return read_rows(path, as);
  table.owner = file.map();
  table.writable = false;
  table.data = static_cast<char const*>(table.owner.get()) + file.head_bytes();
  return table;
} catch (...) {
  rethrow_as_error();
}

row_array open_rows(std::filesystem::path const& path, std::optional<element> as, file_options const& how) try {
  reader_options o;
  o.direct = how.direct ? direct_reads::automatic : direct_reads::no;
  if (how.depth) o.depth = how.depth;
  o.sizes_depth = how.depth == 0;
  o.deadline_seconds = how.deadline_seconds;
  if (is_row_file(path)) {
    auto const file = std::make_shared<row_file>(path, o);
    row_array table = described(file->layout(), as);
    table.file = paged_stored_rows(path.string(), file);
    return table;
  }
  finish_puts(path, false);
  npy_file const file(path);
  row_array table = described(file, as);
  table.file =
      plain_stored_rows(file.name(), open_drives({file.data_file()}, o.direct), o, file.head_bytes(), table.rows, table.row_bytes());
  return table;
} catch (...) {
  rethrow_as_error();
}

namespace {

// Reads the header of the file, and its rows into `to`.
row_array rows_into(std::filesystem::path const& path, std::optional<element> as,
                    std::function<std::shared_ptr<void>(row_array const& said, std::uint64_t bytes)> const& to) {
  if (is_row_file(path)) {
    row_array table = open_rows(path, as);
    std::uint64_t const bytes = table.rows * table.row_bytes();
    std::shared_ptr<void> const memory = to(table, bytes);
    progress told("reading rows", bytes);
    read_rows_of(
        *table.file, table.rows, [](std::uint64_t first, std::uint64_t n, std::uint64_t* ids) { std::iota(ids, ids + n, first); },
        static_cast<char*>(memory.get()), &told);
    table.file.reset();
    table.data = memory.get(), table.owner = memory;
    return table;
  }
  finish_puts(path, false);
  npy_file const file(path);
  row_array table = described(file, as);
  std::uint64_t const bytes = table.rows * file.row_bytes(), at = file.head_bytes();
  std::shared_ptr<void> const memory = to(table, bytes);
  progress told("reading rows", bytes);
  shared_pool().run(bytes, 8u << 20, [&](std::uint64_t a, std::uint64_t b) {
    file.read(static_cast<char*>(memory.get()) + a, b - a, at + a);
    told.advance(b - a);
  });
  table.data = memory.get(), table.owner = memory;
  return table;
}

}  // namespace

row_array read_rows(std::filesystem::path const& path, std::optional<element> as) try {
  return rows_into(path, as, [](row_array const&, std::uint64_t bytes) {
    auto const memory = std::make_shared<memory_block>(tier::host, bytes, -1, "a table of features");
    return std::shared_ptr<void>(memory, memory->data());
  });
} catch (...) {
  rethrow_as_error();
}

row_array describe_rows(std::filesystem::path const& path) try {
  row_array said = is_row_file(path) ? open_rows(path) : described(npy_file(path), {});
  said.file.reset();
  return said;
} catch (...) {
  rethrow_as_error();
}

row_array read_rows_in_common(std::filesystem::path const& path, peer_group::terms terms) {
  row_array said = describe_rows(path);
  std::uint64_t const bytes = said.rows * said.row_bytes();
  terms.same = fmt::format("a table of {} rows of {} {}", said.rows, said.width, to_string(said.kind));
  peer_group common(terms);
  if (common.makes())
    rows_into(path, {}, [&](row_array const&, std::uint64_t all) {
      common.pay(all, "a table of features");
      return std::shared_ptr<void>(common.make_common(all), [](void*) {});  // it is held below
    });
  said.owner = common.open_common(false).memory;
  said.data = said.owner.get();
  if (bytes == 0) said.data = nullptr;
  return said;
}

}  // namespace garner
