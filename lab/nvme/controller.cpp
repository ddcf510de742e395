// See controller.hpp. Numbers of sections and figures are those of NVM Express 1.4.
#include "lab/nvme/controller.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "core/exec/system.hpp"
#include "core/fail.hpp"

namespace garner::lab {

namespace {

constexpr std::uint32_t admin_depth = 32, memory_page = 4096;
constexpr std::uint32_t gone = ~0u;  // value of registers once the device is lost

// With its words 10 and 11, and memory for its data.
nvme_command command(nvme::admin opcode, std::uint32_t word_10, std::uint32_t word_11 = 0, std::uint64_t data = 0,
                     std::uint32_t name_space = 0) {
  return {{nvme::head(static_cast<std::uint8_t>(opcode), name_space), 0, 0, data, 0, word_10 | std::uint64_t{word_11} << 32}};
}

template <class T>
T taken(std::byte const* page, std::size_t at) {
  T v;
  std::memcpy(&v, page + at, sizeof v);
  return v;
}
// Text of a fixed length, padded with blanks.
std::string text_of(std::byte const* page, std::size_t at, std::size_t n) {
  std::string t(reinterpret_cast<char const*>(page + at), n);
  for (char& c : t)
    if (c < ' ' || c > '~') c = ' ';
  while (!t.empty() && t.back() == ' ') t.pop_back();
  return t;
}

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

}  // namespace

std::uint32_t nvme_registers::read(std::uint32_t at) const {
  return std::atomic_ref<std::uint32_t>(base[at / 4]).load(std::memory_order_acquire);
}
std::uint64_t nvme_registers::read_wide(std::uint32_t at) const { return read(at) | std::uint64_t{read(at + 4)} << 32; }
void nvme_registers::write(std::uint32_t at, std::uint32_t value) const { store_register(base + at / 4, value); }
void nvme_registers::write_wide(std::uint32_t at, std::uint64_t value) const {
  write(at, static_cast<std::uint32_t>(value));
  write(at + 4, static_cast<std::uint32_t>(value >> 32));
}

nvme_controller::nvme_controller(nvme_registers registers, std::shared_ptr<bus_memory> memory, std::string name,
                                 nvme_options const& options)
    : registers_(registers), memory_(std::move(memory)), name_(std::move(name)), options_(options) {
  if (options.queues == 0 || options.queues > 65535 || !std::has_single_bit(options.depth) || options.depth < 2 ||
      options.depth > most_queue_depth)
    fail(errc::usage, "{} queues of {} entries; use 1 to 65535, and a power of two from 2 to {}", options.queues, options.depth,
         most_queue_depth);
  if (registers_.bytes < nvme::doorbells + 8)
    fail(errc::input, "{}: {} bytes of registers; a drive of NVMe has at least {}", name_, registers_.bytes, nvme::doorbells + 8);
  try {
    open();
  } catch (...) {
    release();
    throw;
  }
}

void nvme_controller::open() {
  cap_ = registers_.read_wide(nvme::cap);
  if (cap_ == ~std::uint64_t{0}) fail(errc::io, "{}: its registers read as ones; is it powered, and its memory space on?", name_);
  if (!nvme::has_nvm_commands(cap_)) fail(errc::input, "{}: has not the commands of NVM (CAP {:016x}h)", name_, cap_);
  if (nvme::least_page(cap_) > memory_page)
    fail(errc::input, "{}: wants pages of memory of {} bytes; Garner gives such of {}", name_, nvme::least_page(cap_), memory_page);
  facts_.version = registers_.read(nvme::version);
  facts_.most_entries = nvme::most_entries(cap_);
  facts_.depth = std::min(options_.depth, std::bit_floor(facts_.most_entries));
  if (memory_->contiguous())  // each ring in one piece of memory
    facts_.depth = static_cast<std::uint32_t>(std::min<std::size_t>(facts_.depth, memory_->contiguous() / sizeof(nvme_command)));
  disable();  // whatever somebody else left behind, before memory is given to it
  admin_ = make_rings(0, std::min(admin_depth, facts_.depth), "the admin queue of a drive");
  admin_block_ = {tier::host, queue_words(admin_.rings.depth).bytes, -1, "the admin queue of a drive"};
  page_ = memory_->allocate(memory_page, "data of the Identify command");
  enable();
  identify();
  facts_.queues = options_.queues;
  number_queues();
  for (unsigned q = 0; q < facts_.queues; ++q) {
    queues_.push_back(make_rings(q + 1, facts_.depth, "request queues of a drive"));
    create(q);
  }
}

// Rings that it may still write to are left to it.
void nvme_controller::release() noexcept {
  try {
    if (enabled_) disable();
  } catch (...) {
  }
  if (!obeys_) return;
  for (pair const& p : queues_) memory_->release(p.block);
  if (admin_.block) memory_->release(admin_.block);
  if (page_) memory_->release(page_);
}

nvme_controller::pair nvme_controller::make_rings(std::uint32_t queue, std::uint32_t depth, char const* what) {
  std::uint32_t const tail = nvme::doorbell_at(cap_, queue, false), head = nvme::doorbell_at(cap_, queue, true);
  if (head + 4 > registers_.bytes)
    fail(errc::input, "{}: the doorbells of queue {} are at byte {} of registers, of which {} are mapped", name_, queue, head,
         registers_.bytes);
  std::size_t const commands = (depth * sizeof(nvme_command) + memory_page - 1) / memory_page * memory_page;
  pair p;
  p.bytes = commands + depth * sizeof(nvme_completion);
  p.block = memory_->allocate(p.bytes, what);
  p.rings = {reinterpret_cast<nvme_command*>(p.block), reinterpret_cast<nvme_completion const*>(p.block + commands),
             registers_.base + tail / 4, registers_.base + head / 4, depth};
  return p;
}
void nvme_controller::clear(pair const& p) { std::memset(p.block, 0, p.bytes); }

std::uint32_t nvme_controller::state() {
  std::uint32_t const s = registers_.read(nvme::state);
  if (s == gone) {
    enabled_ = false;
    fail(errc::io, "{}: does not respond: its registers read as ones", name_);
  }
  return s;
}

// 7.6.1 and figure 78: CSTS.RDY follows CC.EN within CAP.TO.
void nvme_controller::wait_ready(bool wanted) {
  double const limit = std::max(nvme::ready_ms(cap_), 500u) * 1e-3;
  auto const begin = clock::now();
  for (unsigned tries = 0; nvme::is_ready(state()) != wanted; ++tries) {
    if (wanted && nvme::is_fatal(state())) fail(errc::io, "{}: a fatal status while it was started", name_);
    if (seconds_since(begin) > limit) {
      obeys_ = wanted;
      fail(errc::io, "{}: not {} within {} s; power it off and on", name_, wanted ? "ready" : "reset", limit);
    }
    back_off(tries);
  }
}
void nvme_controller::disable() {
  std::uint32_t const now = registers_.read(nvme::configuration);
  if (now & 1) registers_.write(nvme::configuration, now & ~1u);
  wait_ready(false);
  enabled_ = false;
}
void nvme_controller::enable() {
  queue_words const words(admin_.rings.depth);
  clear(admin_);
  words.write(admin_block_.data());
  admin_view_ = words.view(admin_block_.data(), admin_.rings, options_.time_out_seconds, true);
  std::uint32_t const last = admin_.rings.depth - 1;
  registers_.write(nvme::admin_sizes, last | last << 16);
  registers_.write_wide(nvme::admin_sq, memory_->address(admin_.rings.commands));
  registers_.write_wide(nvme::admin_cq, memory_->address(admin_.rings.completions));
  enabled_ = true;  // it may write from here on
  registers_.write(nvme::configuration, nvme::enable(0));
  wait_ready(true);
}

std::uint32_t nvme_controller::try_admin(nvme_command const& command, std::uint32_t& answer) {
  queue_request r;
  for (unsigned tries = 0; !admin_view_.step(r, command); ++tries) {
    admin_view_.work();
    if (tries % 64 == 0 && nvme::is_fatal(state()))
      fail(errc::io, "{}: has a fatal status, and takes no commands until it is reset", name_);
    back_off(tries);
  }
  if (r.status & (queue_request::timed_out | queue_request::stopped))
    fail(errc::io, "{}: admin command {:02x}h did not complete within {} s", name_, nvme::opcode_of(command), options_.time_out_seconds);
  answer = admin_view_.answer(r);
  admin_view_.give_back(r);
  return r.status;
}
std::uint32_t nvme_controller::admin(nvme_command const& command, char const* what) {
  std::uint32_t answer = 0;
  if (std::uint32_t const status = try_admin(command, answer)) fail(errc::io, "{}: {}: {}", name_, what, nvme::status_name(status));
  return answer;
}

// 5.15; figures 245 (name space) and 247 (controller).
void nvme_controller::identify() {
  admin(command(nvme::admin::identify, 1, 0, memory_->address(page_)), "to identify itself");
  facts_.serial = text_of(page_, 4, 20), facts_.model = text_of(page_, 24, 40), facts_.firmware = text_of(page_, 64, 8);
  auto const most_pages = taken<std::uint8_t>(page_, 77), sq = taken<std::uint8_t>(page_, 512), cq = taken<std::uint8_t>(page_, 513);
  facts_.most_bytes = most_pages ? std::uint64_t{nvme::least_page(cap_)} << most_pages : 0;
  facts_.name_spaces = taken<std::uint32_t>(page_, 516);
  if ((sq & 0xf) > 6 || sq >> 4 < 6 || (cq & 0xf) > 4 || cq >> 4 < 4)
    fail(errc::input, "{}: takes entries of 2^{} to 2^{} and 2^{} to 2^{} bytes; Garner writes such of 64 and 16", name_, sq & 0xf, sq >> 4,
         cq & 0xf, cq >> 4);
  if (options_.name_space == 0 || options_.name_space > facts_.name_spaces)
    fail(errc::usage, "{}: has no name space {}; it numbers them up to {}", name_, options_.name_space, facts_.name_spaces);

  std::memset(page_, 0, memory_page);
  admin(command(nvme::admin::identify, 0, 0, memory_->address(page_), options_.name_space), "to identify a name space");
  facts_.blocks = taken<std::uint64_t>(page_, 0);
  if (facts_.blocks == 0) fail(errc::input, "{}: name space {} is not attached, or has no blocks", name_, options_.name_space);
  auto const format = taken<std::uint32_t>(page_, 128 + 4 * (taken<std::uint8_t>(page_, 26) & 0xf));
  std::uint32_t const shift = format >> 16 & 0xff;
  if (shift < 9 || shift > 20) fail(errc::input, "{}: blocks of 2^{} bytes; 2^9 to 2^20 can be read", name_, shift);
  if (format & 0xffff || taken<std::uint8_t>(page_, 29) & 7)
    fail(errc::input, "{}: name space {} has {} bytes of metadata a block; format it without", name_, options_.name_space, format & 0xffff);
  facts_.block_bytes = 1u << shift;
}

// 5.21.1.7
void nvme_controller::number_queues() {
  nvme_command const ask = command(nvme::admin::set_features, 0x07, (facts_.queues - 1) | (facts_.queues - 1) << 16);
  std::uint32_t const given = admin(ask, "to give queues"), fewest = std::min(given & 0xffff, given >> 16) + 1;
  if (!queues_.empty() && fewest < queues_.size()) fail(errc::io, "{}: gives {} queues where it gave {}", name_, fewest, queues_.size());
  facts_.queues = std::min(facts_.queues, fewest);
}

// 5.3 and 5.4: contiguous rings, no interrupts.
void nvme_controller::create(unsigned queue) {
  queue_rings const& r = queues_[queue].rings;
  std::uint32_t const size_and_id = (r.depth - 1) << 16 | (queue + 1);
  admin(command(nvme::admin::create_cq, size_and_id, 1, memory_->address(r.completions)), "to make a completion queue");
  admin(command(nvme::admin::create_sq, size_and_id, (queue + 1) << 16 | 1, memory_->address(r.commands)), "to make a submission queue");
}

bool nvme_controller::abort(unsigned queue, std::uint16_t id) {
  ++events_.aborts;
  std::uint32_t answer = 1;
  return try_admin(command(nvme::admin::abort, (queue + 1) | std::uint32_t{id} << 16), answer) == nvme::ok && !(answer & 1);
}

bool nvme_controller::restart(unsigned queue, std::span<std::uint16_t const> ids) {
  try {
    for (std::uint16_t const id : ids) abort(queue, id);
    // A controller ends the commands of a queue before it reports that the queue is deleted (5.5, 5.6).
    admin(command(nvme::admin::delete_sq, queue + 1), "to delete a submission queue");
    admin(command(nvme::admin::delete_cq, queue + 1), "to delete a completion queue");
    ++events_.queues_deleted;
    clear(queues_[queue]);
    create(queue);
    return false;
  } catch (error const&) {
    reset();
    return true;
  }
}

void nvme_controller::reset() {
  ++events_.resets;
  disable();
  enable();
  number_queues();
  for (unsigned q = 0; q < queues_.size(); ++q) {
    clear(queues_[q]);
    create(q);
  }
}

nvme_queues::nvme_queues(std::vector<nvme_controller*> drives) : controllers_(std::move(drives)) {
  if (controllers_.empty()) fail(errc::usage, "no drive to read from; name one or several");
  unsigned each = ~0u;
  for (nvme_controller const* c : controllers_) {
    if (c->memory() != controllers_[0]->memory()) fail(errc::usage, "{}: its memory is not that of {}", c->name(), controllers_[0]->name());
    drives_.push_back(c->drive());
    each = std::min(each, c->facts().queues);
  }
  for (unsigned q = 0; q < each; ++q)
    for (unsigned d = 0; d < controllers_.size(); ++d) queues_.push_back({controllers_[d]->rings(q), d});
}
std::vector<unsigned> nvme_queues::restart(unsigned queue, std::span<std::uint16_t const> ids) {
  auto const n = static_cast<unsigned>(controllers_.size());
  if (!controllers_[queue % n]->restart(queue / n, ids)) return {queue};
  std::vector<unsigned> all;
  for (unsigned q = queue % n; q < queues_.size(); q += n) all.push_back(q);
  return all;
}

}  // namespace garner::lab
