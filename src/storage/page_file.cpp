// Heads of page files, their writer, and their checks.
#include "storage/page_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "core/shown.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {

constexpr std::string_view magic = "\x89GNT\r\n\x1a\n";
constexpr std::uint32_t version = 1, fixed_bytes = 96, block = 4096;
constexpr std::uint32_t least_page = 512, most_page = 1 << 20, most_stripes = 1024;
constexpr std::uint64_t at_checksum = 16;

std::uint64_t whole_blocks(std::uint64_t x, std::uint64_t align) { return (x + align - 1) / align * align; }

template <class T>
T take(std::string const& from, std::size_t at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}
template <class T>
void put(std::string& to, std::size_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

std::uint64_t checksum_of_head(std::string head) {
  put<std::uint64_t>(head, at_checksum, 0);
  return ::XXH3_64bits(head.data(), head.size());
}

}  // namespace

bool begins_as_page_file(std::span<std::byte const> start) {
  return start.size() >= magic.size() && std::memcmp(start.data(), magic.data(), magic.size()) == 0;
}

std::uint32_t checksum_of_page(page_head const& head, std::uint64_t page, void const* data) {
  std::uint64_t seed;
  std::memcpy(&seed, head.id.data(), sizeof seed);
  return static_cast<std::uint32_t>(::XXH3_64bits_withSeed(data, head.page_bytes, seed + page));
}

std::uint64_t page_head::head_bytes() const {
  std::uint64_t bytes = fixed_bytes + content.size();
  for (std::string const& n : names) bytes += n.size() + 1;
  return whole_blocks(bytes, block);
}
std::uint64_t page_head::begin() const { return whole_blocks(head_bytes(), std::max(page_bytes, block)); }

std::uint64_t page_head::pages_of(std::uint32_t k) const {
  if (k >= stripes) return 0;
  std::uint64_t const units = pages / unit_pages, tail = pages % unit_pages;
  return (units / stripes + (k < units % stripes)) * unit_pages + (k == units % stripes ? tail : 0);
}

std::string page_head::shown_id() const { return fmt::format("{:02x}{:02x}{:02x}{:02x}", id[0], id[1], id[2], id[3]); }

std::string page_head::written() const {
  std::string text(head_bytes(), '\0'), all_names;
  for (std::string const& n : names) all_names += n + '\n';
  if (text.size() > most_bytes)
    fail(errc::usage, "a head of {} for what a file of pages holds; at most {} are kept", format_bytes(text.size()),
         format_bytes(most_bytes));
  std::memcpy(text.data(), magic.data(), magic.size());
  put(text, 8, version);
  put(text, 12, static_cast<std::uint32_t>(text.size()));
  std::memcpy(text.data() + 24, id.data(), id.size());
  put(text, 40, page_bytes), put(text, 44, stripes), put(text, 48, stripe), put(text, 52, unit_pages);
  put(text, 56, pages), put(text, 64, bytes), put(text, 72, own_pages), put(text, 80, sums_checksum);
  put(text, 88, static_cast<std::uint32_t>(content.size())), put(text, 92, static_cast<std::uint32_t>(all_names.size()));
  std::memcpy(text.data() + fixed_bytes, content.data(), content.size());
  std::memcpy(text.data() + fixed_bytes + content.size(), all_names.data(), all_names.size());
  put(text, at_checksum, checksum_of_head(text));
  return text;
}

page_head page_head::parse(std::string const& name, std::uint64_t size, source const& read) {
  auto const bad = [&](std::string const& what) {
    fail(errc::input, "{}: damaged feature file: {}; restore it from a copy, or convert again", name, what);
  };
  std::string text(std::min<std::uint64_t>(size, fixed_bytes), '\0');
  read(text.data(), text.size(), 0);
  if (!begins_as_page_file(std::as_bytes(std::span(text))))
    fail(errc::input, "{}: is not a feature file (.gnt); write one with garner convert", name);
  if (size < block) bad(fmt::format("{} bytes, the head alone has {} or more", size, block));
  if (std::uint32_t const v = take<std::uint32_t>(text, 8); v != version)
    fail(errc::input, "{}: is a feature file of version {}; this Garner reads version {}", name, v, version);
  std::uint32_t const head = take<std::uint32_t>(text, 12);
  if (head % block || head == 0 || head > most_bytes || head > size) bad(fmt::format("a head of {} bytes in a file of {}", head, size));
  text.resize(head);
  read(text.data() + fixed_bytes, head - fixed_bytes, fixed_bytes);
  if (take<std::uint64_t>(text, at_checksum) != checksum_of_head(text)) bad("its head is damaged (checksum)");

  page_head h;
  std::memcpy(h.id.data(), text.data() + 24, h.id.size());
  h.page_bytes = take<std::uint32_t>(text, 40), h.stripes = take<std::uint32_t>(text, 44);
  h.stripe = take<std::uint32_t>(text, 48), h.unit_pages = take<std::uint32_t>(text, 52);
  h.pages = take<std::uint64_t>(text, 56), h.bytes = take<std::uint64_t>(text, 64);
  h.own_pages = take<std::uint64_t>(text, 72), h.sums_checksum = take<std::uint64_t>(text, 80);
  std::uint64_t const content = take<std::uint32_t>(text, 88), names = take<std::uint32_t>(text, 92);
  if (!std::has_single_bit(h.page_bytes) || h.page_bytes < least_page || h.page_bytes > most_page)
    bad(fmt::format("pages of {} bytes", h.page_bytes));
  if (h.stripes == 0 || h.stripes > most_stripes || (h.stripe >= h.stripes && h.stripe != no_stripe))
    bad(fmt::format("stripe {} of {}", h.stripe, h.stripes));
  if (h.unit_pages == 0 || h.unit_pages > most_page) bad(fmt::format("{} pages that lie together", h.unit_pages));
  if (h.pages > (std::uint64_t{1} << 62) / h.page_bytes || h.bytes > h.pages * h.page_bytes ||
      (h.pages && h.bytes <= (h.pages - 1) * h.page_bytes))
    bad(fmt::format("{} bytes in {} pages of {}", h.bytes, h.pages, h.page_bytes));
  if (content + names > head - fixed_bytes) bad("what its head holds does not fit into it");
  h.content = text.substr(fixed_bytes, content);
  std::string_view left(text.data() + fixed_bytes + content, names);
  while (!left.empty()) {
    std::size_t const end = left.find('\n');
    if (end == left.npos || end == 0) bad("the name of a stripe does not end");
    h.names.emplace_back(left.substr(0, end));
    left.remove_prefix(end + 1);
  }
  bool const list = h.stripe == no_stripe;
  if (h.names.size() != (list ? h.stripes : 0)) bad(fmt::format("{} names of {} stripes", h.names.size(), h.stripes));
  if (h.head_bytes() != head) bad("its head is longer than what it holds");
  if (h.own_pages != (list ? 0 : h.pages_of(h.stripe)))
    bad(fmt::format("{} pages where {} are due", h.own_pages, list ? 0 : h.pages_of(h.stripe)));
  if (!list && h.file_bytes() != size)
    fail(errc::input, "{}: is {} than its head says: {} bytes, {} are due; restore it from a copy, or convert again", name,
         size < h.file_bytes() ? "shorter" : "longer", size, h.file_bytes());
  if (list && size != head) bad(fmt::format("{} bytes where {} are due", size, head));
  return h;
}

// --- writing
// ------------------------------------------------------------------------------------------------------------------------------

namespace {

std::string in_folder(std::string const& folder, std::string const& name) { return (std::filesystem::path(folder) / name).string(); }

// The stripes of the table that a new one replaces: only such as are its own.
std::vector<std::string> stripes_of(std::string const& file) try {
  input_file const in(file);
  page_head const list = page_head::parse(file, in.size(), [&](void* to, std::uint64_t n, std::uint64_t at) { in.read(to, n, at); });
  std::vector<std::string> own;
  for (std::string const& name : list.names) try {
      input_file const stripe(name);
      page_head const h =
          page_head::parse(name, stripe.size(), [&](void* to, std::uint64_t n, std::uint64_t at) { stripe.read(to, n, at); });
      if (h.id == list.id) own.push_back(name);
    } catch (error const&) {
    }
  return own;
} catch (error const&) {
  return {};
}

}  // namespace

page_file_writer::page_file_writer(std::filesystem::path file, std::uint64_t bytes, std::string content, page_file_options const& options)
    : file_(file.string()) {
  if (!std::has_single_bit(options.page_bytes) || options.page_bytes < least_page || options.page_bytes > most_page)
    fail(errc::usage, "pages of {} bytes; use a power of two from {} to {}", options.page_bytes, least_page, most_page);
  if (options.unit_pages == 0 || options.unit_pages > most_page)
    fail(errc::usage, "{} pages that lie together; use 1 to {}", options.unit_pages, most_page);
  if (options.folders.size() > most_stripes) fail(errc::usage, "{} stripes; at most {} are kept", options.folders.size(), most_stripes);
  head_.page_bytes = options.page_bytes, head_.unit_pages = options.unit_pages;
  head_.stripes = static_cast<std::uint32_t>(std::max<std::size_t>(options.folders.size(), 1));
  head_.bytes = bytes;
  head_.pages = bytes / head_.page_bytes + (bytes % head_.page_bytes != 0);
  head_.content = std::move(content);
  if (::getentropy(head_.id.data(), head_.id.size()) != 0) fail(errc::io, "{}: an id cannot be drawn: {}", file_, std::strerror(errno));
  for (std::uint32_t k = 0; k < head_.stripes; ++k) {
    std::string folder = options.folders.empty() ? file.parent_path().string() : options.folders[k], name = file_;
    if (!options.folders.empty()) {
      std::error_code problem;
      folder = std::filesystem::canonical(folder, problem).string();
      if (problem) fail(errc::io, "{}: cannot be written to: {}; name folders that are there", options.folders[k], problem.message());
      name = in_folder(folder, fmt::format("{}.{}.{}", file.filename().string(), head_.shown_id(), k));
    }
    page_head own = head_;
    own.own_pages = head_.pages_of(k);
    std::error_code unknown;
    auto const room = std::filesystem::space(folder.empty() ? "." : folder, unknown);
    // Stripes in folders of one drive are caught when it is full.
    if (!unknown && room.available < own.file_bytes())
      fail(errc::io, "{}: has room for {}, and {} are needed there; free some space or name another folder", folder.empty() ? "." : folder,
           format_bytes(room.available), format_bytes(own.file_bytes()));
    stripes_.push_back(std::make_unique<pending_file>(name));
    names_.push_back(std::move(name));
    sums_.emplace_back();
  }
  if (!options.folders.empty()) list_ = std::make_unique<pending_file>(file_);
  replaced_ = stripes_of(file_);
  unit_.reserve(std::uint64_t{head_.unit_pages} * head_.page_bytes);
}
page_file_writer::~page_file_writer() = default;

void page_file_writer::write(void const* data, std::uint64_t bytes) {
  if (bytes > head_.bytes - taken_)
    fail(errc::internal, "{}: {} bytes more are written than announced", file_, bytes - (head_.bytes - taken_));
  taken_ += bytes;
  std::uint64_t const most = std::uint64_t{head_.unit_pages} * head_.page_bytes;
  auto const* from = static_cast<std::byte const*>(data);
  while (bytes) {
    std::uint64_t const n = std::min(bytes, most - unit_.size());
    unit_.insert(unit_.end(), from, from + n);
    from += n, bytes -= n;
    if (unit_.size() == most) put_unit();
  }
}

void page_file_writer::put_unit() {
  unit_.resize(whole_blocks(unit_.size(), head_.page_bytes));
  std::uint64_t const unit = put_ / head_.unit_pages, count = unit_.size() / head_.page_bytes;
  std::size_t const k = unit % head_.stripes;
  for (std::uint64_t p = 0; p < count; ++p) sums_[k].push_back(checksum_of_page(head_, put_ + p, unit_.data() + p * head_.page_bytes));
  stripes_[k]->write_at(head_.begin() + unit / head_.stripes * head_.unit_pages * head_.page_bytes, unit_.data(), unit_.size());
  put_ += count;
  unit_.clear();
}

void page_file_writer::finish() {
  if (taken_ != head_.bytes) fail(errc::internal, "{}: {} of {} bytes were written", file_, taken_, head_.bytes);
  if (!unit_.empty()) put_unit();
  for (std::uint32_t k = 0; k < head_.stripes; ++k) {
    page_head own = head_;
    own.stripe = k;
    own.own_pages = head_.pages_of(k);
    own.sums_checksum = ::XXH3_64bits(sums_[k].data(), sums_[k].size() * 4);
    std::string text = own.written();
    text.resize(own.begin());
    stripes_[k]->write_at(own.begin() + own.own_pages * own.page_bytes, sums_[k].data(), sums_[k].size() * 4);
    stripes_[k]->write_at(0, text.data(), text.size());
  }
  if (list_) {
    page_head all = head_;
    all.stripe = page_head::no_stripe;
    all.names = names_;
    list_->write(all.written());
    list_->flush();
  }
  for (auto const& s : stripes_) s->flush();
  std::size_t there = 0;
  try {
    for (; there < stripes_.size(); ++there) stripes_[there]->publish();
    if (list_) list_->publish();
  } catch (...) {
    for (std::size_t k = 0; list_ && k < there; ++k) ::unlink(names_[k].c_str());
    throw;
  }
  for (std::string const& old : replaced_) ::unlink(old.c_str());
}

// --- reading
// ------------------------------------------------------------------------------------------------------------------------------

page_file::page_file(std::filesystem::path const& file, reader_options options, opener const& open) : name_(file.string()) {
  auto const head_of = [](input_file const& in) {
    return page_head::parse(in.name(), in.size(), [&](void* to, std::uint64_t n, std::uint64_t at) { in.read(to, n, at); });
  };
  head_ = head_of(input_file(file));
  if (head_.stripe != page_head::no_stripe && head_.stripes > 1)
    fail(errc::input, "{}: is stripe {} of a table of {}; name the file that lists them", name_, head_.stripe, head_.stripes);
  names_ = head_.names;
  if (names_.empty()) names_.push_back(name_);
  std::vector<page_head> heads;
  for (std::uint32_t k = 0; k < head_.stripes; ++k) {
    // If the folders were moved together, a stripe may be next to the list.
    std::error_code none;
    if (!std::filesystem::exists(names_[k], none)) {
      std::filesystem::path const beside = file.parent_path() / std::filesystem::path(names_[k]).filename();
      if (!std::filesystem::exists(beside, none))
        fail(errc::input, "{}: its stripe {} is missing: {} does not exist, nor is it in this folder; mount its drive, or convert again",
             name_, k, names_[k]);
      names_[k] = beside.string();
    }
    page_head const& own = heads.emplace_back(head_of(input_file(names_[k])));
    if (own.id != head_.id)
      fail(errc::input, "{}: is a stripe of another table ({}) than {} ({}) lists; stripes of two tables are mixed", names_[k],
           own.shown_id(), name_, head_.shown_id());
    if (own.stripe != k || own.stripes != head_.stripes || own.pages != head_.pages || own.bytes != head_.bytes ||
        own.page_bytes != head_.page_bytes || own.unit_pages != head_.unit_pages || own.content != head_.content)
      fail(errc::input, "{}: is stripe {} of {}, where {} lists stripe {} of {}; restore it from a copy, or convert again", names_[k],
           own.stripe, own.stripes, name_, k, head_.stripes);
  }
  // The heads were held against the sizes of their files, so there are as many pages.
  sums_ = buffer<std::uint32_t>(tier::host, head_.pages, -1, "checksums of a feature file");
  for (std::uint32_t k = 0; k < head_.stripes; ++k) {
    page_head const& own = heads[k];
    std::vector<std::uint32_t> sums(own.own_pages);
    input_file(names_[k]).read(sums.data(), sums.size() * 4, own.begin() + own.own_pages * own.page_bytes);
    if (::XXH3_64bits(sums.data(), sums.size() * 4) != own.sums_checksum)
      fail(errc::input, "{}: its checksums are damaged; restore it from a copy, or convert again", names_[k]);
    for (std::uint64_t p = 0; p < own.own_pages; ++p) {
      std::uint64_t const unit = p / head_.unit_pages * head_.stripes + k;
      sums_[unit * head_.unit_pages + p % head_.unit_pages] = sums[p];
    }
    options.begin = own.begin();
  }
  options.files = arrangement::striped;
  options.unit_bytes = std::uint64_t{head_.unit_pages} * head_.page_bytes;
  options.size = head_.pages * head_.page_bytes;
  files_ = std::make_unique<reader>(open ? open(names_) : open_drives(names_, options.direct), options);
}

error page_file::error_of(read_done const& done) const {
  if (done.problem == EBADMSG) try {
      files_->require_unchanged();
    } catch (error const& why) {  // another file by now
      return why;
    }
  return files_->error_of(done);
}

read_done page_file::wrong_page(std::uint64_t page) const {
  std::uint64_t const unit = page / head_.unit_pages;
  read_done d;
  d.problem = EBADMSG;
  d.drive = static_cast<std::uint32_t>(unit % head_.stripes);
  d.at = files_->options().begin + (unit / head_.stripes * head_.unit_pages + page % head_.unit_pages) * head_.page_bytes;
  d.bytes = head_.page_bytes;
  return d;
}

void page_queue::submit(std::span<page_request const> requests) {
  reads_.clear();
  std::uint32_t const each = file_.page_bytes();
  for (page_request const& r : requests)
    if (r.page > file_.pages() || r.count > file_.pages() - r.page)
      fail(errc::usage, "a request of {} pages from page {} exceeds the file of {}", r.count, r.page, file_.pages());
  for (page_request const& r : requests) {
    if (free_.empty()) {
      free_.push_back(asked_.size());
      asked_.emplace_back();
    }
    std::uint64_t const slot = free_.back();
    free_.pop_back();
    asked_[slot] = r;
    reads_.push_back({r.page * each, r.count * each, r.to, slot});
  }
  queue_.submit(reads_);
}

std::span<read_done const> page_queue::wait(std::size_t most, std::size_t wanted) {
  told_.clear();
  std::uint32_t const each = file_.page_bytes();
  std::span<read_done const> came;
  try {
    came = queue_.wait(most, wanted);
  } catch (...) {
    cancel();
    throw;
  }
  for (read_done d : came) {
    page_request const& r = asked_[d.tag];
    free_.push_back(d.tag);
    d.tag = r.tag;
    for (std::uint64_t k = 0; !d.problem && k < r.count; ++k) {
      if (file_.right(r.page + k, static_cast<std::byte const*>(r.to) + k * each)) continue;
      d = file_.wrong_page(r.page + k);
      d.tag = r.tag;
    }
    told_.push_back(d);
  }
  return told_;
}

void page_queue::cancel() {
  queue_.cancel();
  asked_.clear();
  free_.clear();
}

void read_pages(page_file& file, std::uint64_t page, std::uint64_t count, void* to) {
  page_queue queue(file);
  page_request const all{page, count, to, 0};
  queue.submit({&all, 1});
  while (queue.under_way())
    for (read_done const& d : queue.wait(1))
      if (d.problem) throw file.error_of(d);
}

}  // namespace garner
