// An NVMe controller in a thread: registers, admin queue, queues and reads as in NVM Express 1.4, over drives whose bytes are a function of
// their position (byte_at). It has its own memory addresses, to detect wrong ones, and records what a driver must not do.
// On request it loses, delays, reorders and repeats completions, returns a status, gets stuck, and stops altogether.
#pragma once
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/exec/system.hpp"
#include "lab/nvme/controller.hpp"
#include "memory/buffer.hpp"
#include "storage_support.hpp"

namespace garner::testing {

using namespace lab;

// Memory with other addresses for drives than for the host.
class elsewhere_memory final : public bus_memory {
 public:
  explicit elsewhere_memory(int device) : mapped_(device) {}
  std::byte* allocate(std::size_t bytes, char const* what) override {
    std::byte* const at = mapped_.allocate(bytes, what);
    std::lock_guard const hold(mutex_);
    blocks_[at] = bytes;
    return at;
  }
  void release(std::byte* at) noexcept override {
    {
      std::lock_guard const hold(mutex_);
      blocks_.erase(at);
    }
    mapped_.release(at);
  }
  std::uint64_t address(void const* at) const override { return mapped_.address(at) + elsewhere; }
  // The host address for a drive's address; null if it must not access it.
  std::byte* found(std::uint64_t address, std::uint64_t bytes) const {
    auto* const at = reinterpret_cast<std::byte*>(address - elsewhere);
    std::lock_guard const hold(mutex_);
    auto next = blocks_.upper_bound(at);
    if (next == blocks_.begin()) return nullptr;
    --next;
    return at + bytes <= next->first + (next->second + 4095) / 4096 * 4096 ? at : nullptr;
  }
  std::size_t blocks() const {
    std::lock_guard const hold(mutex_);
    return blocks_.size();
  }

 private:
  static constexpr std::uint64_t elsewhere = 0x5000'0000'0000;
  mapped_memory mapped_;
  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> blocks_;
};

struct fault {
  enum kind { none, lost, repeated, repeated_late, late, answered, stuck, stuck_for_good, another_id } what = none;
  double ms = 0;             // late: how much
  std::uint32_t status = 0;  // completed with this status
};

struct controller_shape {
  std::uint32_t most_entries = 256, stride = 0, queues = 8, block_bytes = 512, most_pages = 5 /* 2^5 of 4 KiB */, ready_halves = 2;
  std::uint64_t blocks = 1 << 16;
  std::uint64_t first_byte = 0;  // the drive's bytes start at this position, in striping units
  std::function<std::byte(std::uint64_t)> byte = [](std::uint64_t place) { return byte_at(place); };
  std::uint32_t metadata = 0, name_spaces = 1, sq_sizes = 0x66, cq_sizes = 0x44;
  bool reorders = false;
};

class emulated_controller {
 public:
  explicit emulated_controller(std::shared_ptr<elsewhere_memory> memory, controller_shape shape = {}, int device = -1)
      : shape_(std::move(shape)), memory_(std::move(memory)), registers_(tier::host, 4096, device, "registers") {
    std::uint64_t const cap =
        (shape_.most_entries - 1) | 1ull << 16 | std::uint64_t{shape_.ready_halves} << 24 | std::uint64_t{shape_.stride} << 32 | 1ull << 37;
    put(nvme::cap, static_cast<std::uint32_t>(cap)), put(nvme::cap + 4, static_cast<std::uint32_t>(cap >> 32));
    put(nvme::version, 0x10400);
    thread_ = std::thread([this] { run(); });
  }
  ~emulated_controller() {
    leaving_ = true;
    thread_.join();
  }
  nvme_registers registers() const { return {registers_.data(), registers_.bytes()}; }

  // The fate of a command: called for each, with its queue (0: admin). Set it while no command is in flight.
  std::function<fault(unsigned queue, nvme_command const&)> faults;
  std::atomic<bool> hangs{false};  // completes nothing, until it is reset
  std::atomic<bool> deaf{false};   // does not even see that
  std::atomic<bool> fatal{false};  // reports it, until it is reset
  std::atomic<bool> gone{false};   // registers read as ones

  std::vector<std::string> offences() const {
    std::lock_guard const hold(mutex_);
    return offences_;
  }
  std::atomic<std::uint64_t> reads{0}, resets{0}, aborted{0};

 private:
  struct under_way {
    nvme_command command;
    fault f;
  };
  struct submission {
    std::uint64_t at = 0;
    std::uint32_t entries = 0, head = 0, completions = 0;
    std::map<std::uint32_t, under_way> commands;  // by id: read, and neither completed nor lost
  };
  struct completion {
    std::uint64_t at = 0;
    std::uint32_t entries = 0, next = 0;
  };
  struct answer {
    std::chrono::steady_clock::time_point due;
    std::uint32_t queue, id, status, word;
    bool ends;  // completes the command, and is not a repetition
    nvme_command command;
  };

  std::uint32_t get(std::uint32_t at) const {
    return std::atomic_ref<std::uint32_t>(registers_.data()[at / 4]).load(std::memory_order_acquire);
  }
  void put(std::uint32_t at, std::uint32_t v) {
    std::atomic_ref<std::uint32_t>(registers_.data()[at / 4]).store(v, std::memory_order_release);
  }
  std::uint64_t get_wide(std::uint32_t at) const { return get(at) | std::uint64_t{get(at + 4)} << 32; }
  std::uint32_t doorbell(std::uint32_t queue, bool head) const { return nvme::doorbells + (2 * queue + head) * (4u << shape_.stride); }
  void offend(std::string what) {
    std::lock_guard const hold(mutex_);
    offences_.push_back(std::move(what));
  }

  void run() {
    for (unsigned idle = 0; !leaving_;) {
      bool const moved = step();
      idle = moved ? 0 : idle + 1;
      if (idle) back_off(idle);
    }
  }
  bool step() {
    if (gone.exchange(false)) {
      for (std::uint32_t at = 0; at < 0x40; at += 4) put(at, ~0u);
      was_gone_ = true;
    }
    if (was_gone_ || deaf) return false;
    bool const enabled = get(nvme::configuration) & 1;
    if (enabled != enabled_) {
      enabled_ = enabled;
      if (enabled) begin();
      else stop();
      return true;
    }
    if (!enabled_ || hangs) return false;
    if (fatal) {
      put(nvme::state, get(nvme::state) | 2);
      return false;
    }
    bool moved = false;
    for (std::uint32_t q = 0; q < 64; ++q)
      if (auto const s = submissions_.find(q); s != submissions_.end()) moved |= read_commands(q, s->second);
    return answer_due() || moved;
  }

  void begin() {
    std::uint32_t const sizes = get(nvme::admin_sizes), c = get(nvme::configuration);
    if ((c >> 16 & 0xf) != 6 || (c >> 20 & 0xf) != 4) offend("entries of other sizes");
    if (c >> 7 & 0xf) offend("pages of another size");
    if (get_wide(nvme::admin_sq) % 4096 || get_wide(nvme::admin_cq) % 4096) offend("an admin queue that begins on no page");
    submissions_[0] = {get_wide(nvme::admin_sq), (sizes & 0xfff) + 1, 0, 0, {}};
    completions_[0] = {get_wide(nvme::admin_cq), (sizes >> 16 & 0xfff) + 1, 0};
    put(doorbell(0, false), 0), put(doorbell(0, true), 0);
    put(nvme::state, 1);
  }
  void stop() {
    submissions_.clear(), completions_.clear(), answers_.clear(), phases_.clear();
    for (std::uint32_t q = 0; q < 64; ++q) put(doorbell(q, false), 0), put(doorbell(q, true), 0);
    hangs = fatal = false;
    ++resets;
    put(nvme::state, 0);
  }

  bool read_commands(std::uint32_t q, submission& s) {
    std::uint32_t const tail = get(doorbell(q, false));
    if (tail >= s.entries) return offend("a doorbell of " + std::to_string(tail)), false;
    if (s.head == tail) return false;
    auto const* const ring = reinterpret_cast<nvme_command const*>(memory_->found(s.at, s.entries * sizeof(nvme_command)));
    if (!ring) return offend("a ring that is nobody's memory"), false;
    while (s.head != tail) {
      nvme_command const c = ring[s.head];
      s.head = (s.head + 1) % s.entries;
      fault const f = faults ? faults(q, c) : fault{};
      std::uint32_t const id = nvme::id_of(c);
      if (s.commands.count(id)) {
        offend("an id that is in use");
        later(q, id, nvme::id_conflict, 0, c, 0);
        continue;
      }
      if (id == 0xffff) offend("the id ffffh");
      if (c.words[0] >> 8 & 0xff) offend("a fused command, or one with a list of segments");
      s.commands[id] = {c, f};
      if (q == 0) {
        admin(c);
        if (!submissions_.count(0)) return true;
      } else if (f.what != fault::stuck && f.what != fault::stuck_for_good) {
        io(q, c, f);
      }
    }
    return true;
  }

  void later(std::uint32_t q, std::uint32_t id, std::uint32_t status, std::uint32_t word, nvme_command const& c, double ms,
             bool ends = true) {
    if (shape_.reorders && q) ms += static_cast<double>(mix(++serial_) % 100) * 0.005;
    answers_.push_back(
        {std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<int>(ms * 1000)), q, id, status, word, ends, c});
  }
  bool answer_due() {
    auto const now = std::chrono::steady_clock::now();
    for (auto a = answers_.begin(); a != answers_.end(); ++a) {
      if (a->due > now) continue;
      if (!tell(*a)) continue;  // the ring is full
      answers_.erase(a);
      return true;
    }
    return false;
  }
  bool tell(answer const& a) {
    auto const s = submissions_.find(a.queue);
    if (s == submissions_.end()) return true;
    completion& c = completions_[s->second.completions];
    std::uint32_t const head = get(doorbell(s->second.completions, true));
    if (head >= c.entries) return offend("a head of " + std::to_string(head)), false;
    if ((c.next + 1) % c.entries == head) return false;
    auto* const ring = reinterpret_cast<nvme_completion*>(memory_->found(c.at, c.entries * sizeof(nvme_completion)));
    if (!ring) return offend("a ring that is nobody's memory"), true;
    std::uint32_t* const words = ring[c.next % c.entries].words;
    words[0] = a.word, words[1] = 0, words[2] = s->second.head | a.queue << 16;
    std::uint32_t const phase = phases_[s->second.completions] ^ 1;
    std::atomic_ref<std::uint32_t>(words[3]).store(nvme::last_word(a.id, phase, a.status), std::memory_order_release);
    if (++c.next == c.entries) c.next = 0, phases_[s->second.completions] ^= 1;
    if (a.ends) s->second.commands.erase(a.id);
    return true;
  }

  void io(std::uint32_t q, nvme_command const& c, fault const& f) {
    std::uint32_t const id = nvme::id_of(c);
    ++reads;
    std::uint32_t status = f.what == fault::answered ? f.status : transfer(c);
    switch (f.what) {
      case fault::lost:
        submissions_[q].commands.erase(id);
        return;
      case fault::repeated:
        later(q, id, status, 0, c, 0);
        later(q, id, status, 0, c, 0, false);
        return;
      case fault::repeated_late:
        later(q, id, status, 0, c, 0);
        later(q, id, status, 0, c, 2, false);
        return;
      case fault::another_id:
        later(q, id ^ 0x8000, status, 0, c, 0, false);
        later(q, id, status, 0, c, 1);
        return;
      default:
        later(q, id, status, 0, c, f.ms);
    }
  }

  std::uint32_t transfer(nvme_command const& c) {
    if (nvme::opcode_of(c) != 2) return nvme::invalid_opcode | nvme::final_bit;
    if (nvme::name_space_of(c) == 0 || nvme::name_space_of(c) > shape_.name_spaces) return nvme::invalid_name_space | nvme::final_bit;
    std::uint64_t const first = c.words[5], n = (nvme::word_of(c, 12) & 0xffff) + 1;
    if (first >= shape_.blocks || n > shape_.blocks - first) return nvme::out_of_range | nvme::final_bit;
    std::uint64_t const bytes = n * shape_.block_bytes;
    if (shape_.most_pages && bytes > (4096ull << shape_.most_pages)) return nvme::invalid_field | nvme::final_bit;
    // 4.3: the first piece may begin anywhere, the others on a page; two are direct, more are in a list.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
    std::uint64_t at = c.words[3], done = 0, list = 0;
    if (at % 4) return nvme::invalid_prp_offset | nvme::final_bit;
    for (;;) {
      std::uint64_t const piece = std::min(bytes - done, 4096 - at % 4096);
      pieces.emplace_back(at, piece);
      if ((done += piece) == bytes) break;
      if (list == 0 && bytes - done <= 4096) {
        at = c.words[4];
      } else {
        std::uint64_t entry = list ? list : c.words[4];
        if (entry % 8) return nvme::invalid_prp_offset | nvme::final_bit;
        if (entry % 4096 == 4088 && bytes - done > 4096) entry = next_list(entry);  // the last entry of a page links to the next
        std::byte const* const from = memory_->found(entry, 8);
        if (!from) return offend("a list that is nobody's memory"), nvme::transfer_error;
        std::memcpy(&at, from, 8);
        list = entry + 8;
      }
      if (at % 4096) return nvme::invalid_prp_offset | nvme::final_bit;
    }
    std::uint64_t place = first * shape_.block_bytes;
    for (auto const& [address, piece] : pieces) {
      std::byte* const to = memory_->found(address, piece);
      if (!to) return offend("data into nobody's memory"), nvme::transfer_error;
      for (std::uint64_t k = 0; k < piece; ++k) to[k] = shape_.byte(place + k);
      place += piece;
    }
    return nvme::ok;
  }
  std::uint64_t next_list(std::uint64_t entry) {
    std::uint64_t next = entry;
    if (std::byte const* const from = memory_->found(entry, 8)) std::memcpy(&next, from, 8);
    return next;
  }

  void admin(nvme_command const& c) {
    std::uint32_t const w10 = nvme::word_of(c, 10), w11 = nvme::word_of(c, 11), q = w10 & 0xffff, entries = (w10 >> 16) + 1;
    std::uint32_t word = 0;
    auto const say = [&](std::uint32_t status) { later(0, nvme::id_of(c), status ? status | nvme::final_bit : 0, word, c, 0); };
    under_way const& mine = submissions_[0].commands[nvme::id_of(c)];
    if (mine.f.what == fault::lost || mine.f.what == fault::stuck) return;
    if (mine.f.what == fault::answered) return say(mine.f.status);
    switch (static_cast<nvme::admin>(nvme::opcode_of(c))) {
      case nvme::admin::identify:
        return say(identify(c, w10 & 0xff));
      case nvme::admin::set_features:
        if ((w10 & 0xff) != 7) return say(nvme::invalid_field);
        if ((w11 & 0xffff) == 0xffff || w11 >> 16 == 0xffff) return say(nvme::invalid_field);
        if (submissions_.size() > 1) return say(nvme::status(0, 0x0c));  // only before queues exist
        word = std::min(w11 & 0xffff, shape_.queues - 1) | std::min(w11 >> 16, shape_.queues - 1) << 16;
        return say(0);
      case nvme::admin::create_cq:
        if (q == 0 || q > shape_.queues || completions_.count(q)) return say(nvme::invalid_queue);
        if (entries < 2 || entries > shape_.most_entries) return say(nvme::invalid_queue_size);
        if (!(w11 & 1)) return say(nvme::invalid_field);  // CAP.CQR
        if (c.words[3] % 4096) return say(nvme::invalid_prp_offset);
        if (!clean(c.words[3], entries * 16)) offend("a completion ring that is not zero");
        completions_[q] = {c.words[3], entries, 0};
        phases_[q] = 0;
        put(doorbell(q, true), 0);
        return say(0);
      case nvme::admin::create_sq:
        if (q == 0 || q > shape_.queues || submissions_.count(q)) return say(nvme::invalid_queue);
        if (entries < 2 || entries > shape_.most_entries) return say(nvme::invalid_queue_size);
        if (!(w11 & 1)) return say(nvme::invalid_field);
        if (!completions_.count(w11 >> 16) || w11 >> 16 == 0) return say(nvme::invalid_completion_queue);
        if (c.words[3] % 4096) return say(nvme::invalid_prp_offset);
        submissions_[q] = {c.words[3], entries, 0, w11 >> 16, {}};
        put(doorbell(q, false), 0);
        return say(0);
      case nvme::admin::delete_sq: {
        auto const s = submissions_.find(q);
        if (q == 0 || s == submissions_.end()) return say(nvme::invalid_queue);
        for (auto const& [id, u] : s->second.commands)
          if (u.f.what == fault::stuck_for_good) return;  // waits for it
        submissions_.erase(s);
        std::erase_if(answers_, [&](answer const& a) { return a.queue == q; });
        return say(0);
      }
      case nvme::admin::delete_cq:
        if (q == 0 || !completions_.count(q)) return say(nvme::invalid_queue);
        for (auto const& [number, s] : submissions_)
          if (s.completions == q) return say(nvme::invalid_queue_deletion);
        completions_.erase(q);
        return say(0);
      case nvme::admin::abort: {
        auto const s = submissions_.find(q);
        word = 1;
        if (s != submissions_.end()) {
          auto const found = s->second.commands.find(w10 >> 16);
          if (found != s->second.commands.end() && found->second.f.what == fault::stuck) {
            word = 0;
            ++aborted;
            later(q, w10 >> 16, nvme::aborted, 0, found->second.command, 0);
          }
        }
        return say(0);
      }
      default:
        return say(nvme::invalid_opcode);
    }
  }
  bool clean(std::uint64_t at, std::uint64_t bytes) const {
    std::byte const* const from = memory_->found(at, bytes);
    for (std::uint64_t k = 0; from && k < bytes; ++k)
      if (from[k] != std::byte{0}) return false;
    return from != nullptr;
  }
  std::uint32_t identify(nvme_command const& c, std::uint32_t what) {
    std::byte* const to = memory_->found(c.words[3], 4096);
    if (!to || c.words[3] % 4096) return nvme::invalid_prp_offset;
    std::memset(to, 0, 4096);
    auto const put_at = [&](std::size_t at, auto v) { std::memcpy(to + at, &v, sizeof v); };
    if (what == 1) {
      std::memset(to + 4, ' ', 60);
      std::memcpy(to + 4, "EMU0001", 7), std::memcpy(to + 24, "Emulated drive", 14), std::memcpy(to + 64, "1.0     ", 8);
      put_at(77, static_cast<std::uint8_t>(shape_.most_pages));
      put_at(512, static_cast<std::uint8_t>(shape_.sq_sizes)), put_at(513, static_cast<std::uint8_t>(shape_.cq_sizes));
      put_at(516, shape_.name_spaces);
      return 0;
    }
    if (what != 0) return nvme::invalid_field;
    if (nvme::name_space_of(c) == 0 || nvme::name_space_of(c) > shape_.name_spaces) return nvme::invalid_name_space;
    put_at(0, shape_.blocks), put_at(8, shape_.blocks), put_at(16, shape_.blocks);
    std::uint32_t shift = 0;
    while ((1u << shift) < shape_.block_bytes) ++shift;
    put_at(26, std::uint8_t{1});  // the second format; the first is another
    put_at(128, 3u << 16);
    put_at(132, shift << 16 | shape_.metadata);
    return 0;
  }

  controller_shape shape_;
  std::shared_ptr<elsewhere_memory> memory_;
  buffer<std::uint32_t> registers_;
  std::map<std::uint32_t, submission> submissions_;
  std::map<std::uint32_t, completion> completions_;
  std::map<std::uint32_t, std::uint32_t> phases_;
  std::deque<answer> answers_;
  mutable std::mutex mutex_;
  std::vector<std::string> offences_;
  std::uint64_t serial_ = 0;
  bool enabled_ = false, was_gone_ = false;
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace garner::testing
