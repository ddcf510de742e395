#include "graph/arrays.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "files/npy_head.hpp"
#include "graph/edge_index.hpp"
#include "graph/read_text.hpp"

namespace garner {

namespace {

constexpr std::uint64_t part_bytes = 1u << 20;

bool is_text(std::filesystem::path const& file) { return strip_compression(file).name.ends_with(".csv"); }

// --- the rules ---------------------------------------------------------------------------------------------------------------------------

void check_rows(std::string const& name, std::uint64_t rows, array_rules const& rules) {
  if (rules.rows && rows != *rules.rows)
    fail(errc::input, "{}: has {} rows for {} {}; each has one", name, rows, *rules.rows, rules.of.empty() ? "rows" : rules.of);
  if (rows > rules.most_rows) fail(errc::input, "{}: names {} of {} {}; each is named once", name, rows, rules.most_rows, rules.of);
}
void check_below(std::string const& name, std::uint64_t row, std::int64_t value, array_rules const& rules) {
  if (!rules.below) return;
  if (value < 0 || static_cast<std::uint64_t>(value) >= *rules.below)
    fail(errc::input, "{}: row {} is {}; {} {} does not exist, they go from 0 to {}", name, row, value, rules.of, value,
         std::max<std::uint64_t>(*rules.below, 1) - 1);
}
void check_column(npy_layout const& a) {
  if (a.row_bytes() != a.element_bytes() && a.rows() > 0)
    fail(errc::input, "{}: an array ({}); expected one number per row", a.name(), fmt::join(a.shape(), ", "));
}

// --- numbers of any type as int64 --------------------------------------------------------------------------------------------------------

template <class T>
void widen(char const* from, std::uint64_t n, std::int64_t* to, std::string const& name, std::uint64_t first) {
  for (std::uint64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof value);
    bool fits = true;
    if constexpr (std::is_floating_point_v<T>) fits = std::floor(value) == value && std::abs(value) < 0x1p62;
    if constexpr (std::is_same_v<T, std::uint64_t>) fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!fits) fail(errc::input, "{}: row {} is {}, no whole number of 64 bits", name, first + i, value);
    to[i] = static_cast<std::int64_t>(value);
  }
}

// Calls f(first row, values) for all rows in order; `next` returns the data sequentially.
void each_whole(npy_layout const& a, std::function<void(void*, std::uint64_t)> const& next,
                std::function<void(std::uint64_t, std::vector<std::int64_t> const&)> const& f) {
  check_column(a);
  decltype(&widen<float>) how = nullptr;
  std::string const& t = a.type();
  if (t == "<i8") how = widen<std::int64_t>;
  else if (t == "<u8") how = widen<std::uint64_t>;
  else if (t == "<i4") how = widen<std::int32_t>;
  else if (t == "<u4") how = widen<std::uint32_t>;
  else if (t == "<i2") how = widen<std::int16_t>;
  else if (t == "<u2") how = widen<std::uint16_t>;
  else if (t == "|i1") how = widen<std::int8_t>;
  else if (t == "|u1") how = widen<std::uint8_t>;
  else if (t == "<f4") how = widen<float>;
  else if (t == "<f8") how = widen<double>;
  else fail(errc::input, "{}: elements are {}; whole numbers are wanted", a.name(), t);
  std::uint64_t const step = part_bytes / a.element_bytes();
  std::vector<char> raw;
  std::vector<std::int64_t> values;
  for (std::uint64_t first = 0; first < a.rows(); first += step) {
    check_interrupted();
    std::uint64_t const n = std::min(step, a.rows() - first);
    raw.resize(n * a.element_bytes()), values.resize(n);
    next(raw.data(), raw.size());
    how(raw.data(), n, values.data(), a.name(), first);
    f(first, values);
  }
}
std::function<void(void*, std::uint64_t)> in_a_row(npy_file const& file) {
  return [&file, at = file.head_bytes()](void* to, std::uint64_t n) mutable {
    file.read(to, n, at);
    at += n;
  };
}

// --- text --------------------------------------------------------------------------------------------------------------------------------

struct text_table {
  std::uint64_t rows = 0, width = 0;
  bool whole = true;
};

// Calls row(row number, first field, one past the last) for each line; fields are of type T. If `row` returns false, reading stops.
template <class T, class Row>
text_table each_row(std::filesystem::path const& file, Row const& row) {
  input_stream in(file);
  text_reader text(in, {});
  text_table table;
  std::vector<T> fields;
  for (std::string_view line; text.next_line(line);) {
    char const *p = skip_blanks(line.data(), line.data() + line.size()), *const end = line.data() + line.size();
    if (p == end) continue;
    if (table.rows % 4096 == 0) check_interrupted();
    fields.clear();
    while (true) {
      p = skip_blanks(p, end);
      char const* const stop = std::find(p, end, ',');
      char const* last = stop;
      while (last != p && is_blank(last[-1])) --last;
      T value{};
      auto const [rest, problem] = std::from_chars(p, last, value);
      if constexpr (std::is_floating_point_v<T>) {
        if (p == last) value = std::numeric_limits<T>::quiet_NaN();  // pandas writes missing values as empty fields
        else if (rest != last || problem == std::errc::invalid_argument)
          text.complain(p, fmt::format("{} is not a number", shown({p, last})));
        else if (problem != std::errc{}) text.complain(p, fmt::format("{} is beyond the range of its float", shown({p, last})));
      } else if (p == last || rest != last || problem != std::errc{}) {
        text.complain(p, fmt::format("{} is not a whole number of 64 bits", shown({p, last})));
      }
      fields.push_back(value);
      if (stop == end) break;
      p = stop + 1;
    }
    if (table.rows == 0) table.width = fields.size();
    if (fields.size() != table.width)
      text.complain(line.data(), fmt::format("{} columns where the first row has {}", fields.size(), table.width));
    if (!row(table.rows, fields)) {
      table.whole = false;
      break;
    }
    ++table.rows;
  }
  return table;
}

bool all_whole(std::filesystem::path const& file) {
  return each_row<double>(file,
                          [](std::uint64_t, std::vector<double> const& row) {
                            return std::all_of(row.begin(), row.end(), [](double v) { return std::floor(v) == v && std::abs(v) < 0x1p53; });
                          })
      .whole;
}

template <class T>
void write_text(std::filesystem::path const& file, array_rules const& rules, char const* type, std::filesystem::path const& written) {
  constexpr std::size_t head = 128;
  pending_file out(written);
  out.write(std::string(head, ' '));
  std::vector<T> part;
  auto const flush = [&] {
    out.write(part.data(), part.size() * sizeof(T));
    part.clear();
  };
  text_table const table = each_row<T>(file, [&](std::uint64_t row, std::vector<T> const& fields) {
    if (rules.whole && fields.size() != 1)
      fail(errc::input, "{}: has {} columns; expected one number per row", file.string(), fields.size());
    if constexpr (std::is_integral_v<T>) check_below(file.string(), row, fields[0], rules);
    part.insert(part.end(), fields.begin(), fields.end());
    if (part.size() * sizeof(T) >= part_bytes) flush();
    return true;
  });
  check_rows(file.string(), table.rows, rules);
  flush();
  std::string const begin = npy_head(type, table.rows, rules.whole ? 0 : std::max<std::uint64_t>(1, table.width), head);
  out.write_at(0, begin.data(), begin.size());
  out.commit();
}

void write_whole(npy_layout const& a, std::function<void(void*, std::uint64_t)> const& next, array_rules const& rules,
                 std::filesystem::path const& written) {
  pending_file out(written);
  out.write(npy_head("<i8", a.rows()));
  each_whole(a, next, [&](std::uint64_t first, std::vector<std::int64_t> const& values) {
    for (std::uint64_t i = 0; i < values.size(); ++i) check_below(a.name(), first + i, values[i], rules);
    out.write(values.data(), values.size() * sizeof(std::int64_t));
  });
  out.commit();
}

}  // namespace

bool is_raw(std::filesystem::path const& file) {
  if (file.extension() != ".npy") return false;
  input_file const in(file);
  std::array<char, 6> first{};
  if (in.size() < 2 * first.size()) return false;
  in.read(first.data(), first.size(), 0);
  return std::memcmp(first.data(), "\x93NUMPY", first.size()) != 0;
}

void check_array(std::filesystem::path const& npy, array_rules const& rules, bool values) {
  npy_file const file(npy);
  check_rows(file.name(), file.rows(), rules);
  if (!rules.whole) return;
  check_column(file);
  if (file.type() != "<i8")
    fail(errc::input, "{}: elements are {}; write it with numpy.save(file, numbers.astype('<i8'))", file.name(), file.type());
  if (values && rules.below)
    each_whole(file, in_a_row(file), [&](std::uint64_t first, std::vector<std::int64_t> const& all) {
      for (std::uint64_t i = 0; i < all.size(); ++i) check_below(file.name(), first + i, all[i], rules);
    });
}

std::filesystem::path as_npy(array_source const& from, array_rules const& rules, std::filesystem::path const& written) {
  if (!from.key.empty()) {
    zip_file const archive(from.file);
    zipped_array array(archive, from.key);
    npy_layout const& a = array.layout();
    check_rows(a.name(), a.rows(), rules);
    if (rules.whole) {
      write_whole(
          a, [&](void* to, std::uint64_t n) { array.read(to, n); }, rules, written);
      return written;
    }
    // The member is already .npy: copy its bytes unchanged.
    zip_file::member whole(archive, *archive.find(from.key + ".npy"));
    pending_file out(written);
    progress bar("unpacking", whole.size());
    std::vector<char> part(std::min(part_bytes, whole.size()));
    while (std::uint64_t const n = std::min<std::uint64_t>(part.size(), whole.size() - whole.position())) {
      whole.read(part.data(), n);
      out.write(part.data(), n);
      bar.advance(n);
    }
    out.commit();
    return written;
  }
  if (is_text(from.file)) {
    if (rules.whole || (rules.kind_as_found && all_whole(from.file))) write_text<std::int64_t>(from.file, rules, "<i8", written);
    else write_text<float>(from.file, rules, "<f4", written);
    return written;
  }
  if (rules.rows && !rules.whole && is_raw(from.file)) {
    input_file const in(from.file);
    raw_rows const raw{"<f4", *rules.rows, igb_width, std::filesystem::absolute(from.file)};
    if (raw.rows && in.size() == raw.rows * igb_width * 4) {
      std::filesystem::path const made = std::filesystem::path(written).replace_extension(".raw");
      pending_file out(made);
      out.write(raw.text());
      out.commit();
      return made;
    }
    if (in.size() == raw.rows * 4) {
      pending_file out(written);
      out.write(npy_head("<f4", raw.rows));
      std::vector<char> part(std::min<std::uint64_t>(part_bytes, in.size()));
      for (std::uint64_t at = 0, n; at < in.size(); at += n) {
        n = std::min<std::uint64_t>(part.size(), in.size() - at);
        in.read(part.data(), n, at);
        out.write(part.data(), n);
      }
      out.commit();
      return written;
    }
    fail(errc::input,
         "{}: has no header of NumPy and {} bytes; raw float32 of {} rows takes {} bytes ({} features each) or {} (a label each); write it "
         "with "
         "numpy.save",
         from.file.string(), in.size(), raw.rows, raw.rows * igb_width * 4, igb_width, raw.rows * 4);
  }
  npy_file const file(from.file);
  check_rows(file.name(), file.rows(), rules);
  if (!rules.whole) return from.file;
  if (file.type() == "<i8" && file.shape().size() == 1) {
    check_array(from.file, rules, true);
    return from.file;
  }
  write_whole(file, in_a_row(file), rules, written);
  return written;
}

std::vector<std::int64_t> whole_numbers(array_source const& from, array_rules rules) {
  rules.whole = true;
  std::vector<std::int64_t> all;
  auto const take = [&](std::uint64_t first, std::vector<std::int64_t> const& values) {
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      check_below(from.file.string(), first + i, values[i], rules);
      all.push_back(values[i]);
    }
  };
  if (!from.key.empty()) {
    zip_file const archive(from.file);
    zipped_array array(archive, from.key);
    each_whole(
        array.layout(), [&](void* to, std::uint64_t n) { array.read(to, n); }, take);
  } else if (is_text(from.file)) {
    each_row<std::int64_t>(from.file, [&](std::uint64_t row, std::vector<std::int64_t> const& fields) {
      if (fields.size() != 1) fail(errc::input, "{}: has {} columns; expected one number per row", from.file.string(), fields.size());
      take(row, fields);
      return true;
    });
  } else {
    npy_file const file(from.file);
    each_whole(file, in_a_row(file), take);
  }
  check_rows(from.file.string(), all.size(), rules);
  return all;
}

}  // namespace garner
