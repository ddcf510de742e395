// The words of NVMe (NVM Express base specification 1.4): commands, completions, registers, statuses. Only the subset for reading: the
// admin commands that make and end queues, identify, abort, and the NVM command set's read and write. Garner's own host threads use the
// same words, so that there is one submission, one completion and one way to wait (queue_view).
#pragma once
#include <cstdint>
#include <string>

#include "core/mark.hpp"

namespace garner::lab {

// 64 bytes. In 32-bit words of the specification: 0 opcode and id, 1 name space, 4-5 metadata, 6-7 PRP 1, 8-9 PRP 2, 10-15 the command's
// own.
struct alignas(64) nvme_command {
  std::uint64_t words[8];
};
// 16 bytes: 0 result of the command, 1 reserved, 2 head of the submission queue and its id, 3 id, phase, status.
struct alignas(16) nvme_completion {
  std::uint32_t words[4];
};
static_assert(sizeof(nvme_command) == 64 && sizeof(nvme_completion) == 16);

namespace nvme {

enum class admin : std::uint8_t {
  delete_sq = 0x00,
  create_sq = 0x01,
  delete_cq = 0x04,
  create_cq = 0x05,
  identify = 0x06,
  abort = 0x08,
  set_features = 0x09,
};
enum class io : std::uint8_t { flush = 0x00, write = 0x01, read = 0x02 };

// The first word of a command, and the same without its id, which the queue puts in when it has one.
GARNER_HD constexpr std::uint64_t head(std::uint8_t opcode, std::uint32_t name_space) {
  return opcode | static_cast<std::uint64_t>(name_space) << 32;
}
GARNER_HD constexpr nvme_command transfer(io opcode, std::uint32_t name_space, std::uint64_t first_block, std::uint32_t blocks,
                                          std::uint64_t prp1, std::uint64_t prp2) {
  return {{head(static_cast<std::uint8_t>(opcode), name_space), 0, 0, prp1, prp2, first_block, blocks - 1, 0}};
}
GARNER_HD constexpr std::uint32_t opcode_of(nvme_command const& c) { return static_cast<std::uint32_t>(c.words[0] & 0xff); }
GARNER_HD constexpr std::uint32_t id_of(nvme_command const& c) { return static_cast<std::uint32_t>(c.words[0] >> 16 & 0xffff); }
GARNER_HD constexpr std::uint32_t name_space_of(nvme_command const& c) { return static_cast<std::uint32_t>(c.words[0] >> 32); }
// A word of the specification's numbering.
GARNER_HD constexpr std::uint32_t word_of(nvme_command const& c, int k) {
  return static_cast<std::uint32_t>(c.words[k / 2] >> (k % 2 * 32));
}

// The last word of a completion: phase in bit 16, status in the 15 above.
GARNER_HD constexpr std::uint32_t last_word(std::uint32_t id, std::uint32_t phase, std::uint32_t status) {
  return id | phase << 16 | status << 17;
}
GARNER_HD constexpr std::uint32_t id_of(std::uint32_t last) { return last & 0xffff; }
GARNER_HD constexpr std::uint32_t phase_of(std::uint32_t last) { return last >> 16 & 1; }
GARNER_HD constexpr std::uint32_t status_of(std::uint32_t last) { return last >> 17; }
// The phase of the entries of a completion queue, at the n-th entry since it was made: first 1, then changing with each round.
GARNER_HD constexpr std::uint32_t phase_at(std::uint32_t n, std::uint32_t depth) { return (n / depth & 1) ^ 1; }

// A status: code in bits 0-7, its type in 8-10; 11-12 when to try again, 13 more is known, 14 do not try again.
constexpr std::uint32_t status(std::uint32_t type, std::uint32_t code, bool final = false) {
  return code | type << 8 | (final ? 0x4000u : 0);
}
constexpr std::uint32_t code_bits = 0x7ff, final_bit = 0x4000;
// "Unrecovered Read Error (type 2, code 81h, do not retry)", as the specification names it.
std::string status_name(std::uint32_t status);

inline constexpr std::uint32_t ok = 0, invalid_opcode = status(0, 0x01), invalid_field = status(0, 0x02), id_conflict = status(0, 0x03),
                               transfer_error = status(0, 0x04), aborted = status(0, 0x07), invalid_name_space = status(0, 0x0b),
                               invalid_prp_offset = status(0, 0x13), out_of_range = status(0, 0x80),
                               invalid_completion_queue = status(1, 0x00), invalid_queue = status(1, 0x01),
                               invalid_queue_size = status(1, 0x02), invalid_queue_deletion = status(1, 0x0c), read_error = status(2, 0x81);

// Registers, by their byte in the first mapped region (BAR 0).
inline constexpr std::uint32_t cap = 0x00, version = 0x08, configuration = 0x14, state = 0x1c, admin_sizes = 0x24, admin_sq = 0x28,
                               admin_cq = 0x30, doorbells = 0x1000;
// CAP
constexpr std::uint32_t most_entries(std::uint64_t cap) { return static_cast<std::uint32_t>(cap & 0xffff) + 1; }
constexpr std::uint32_t ready_ms(std::uint64_t cap) { return static_cast<std::uint32_t>(cap >> 24 & 0xff) * 500; }
constexpr std::uint32_t doorbell_stride(std::uint64_t cap) { return 4u << (cap >> 32 & 0xf); }
constexpr bool has_nvm_commands(std::uint64_t cap) { return cap >> 37 & 1; }
constexpr std::uint32_t least_page(std::uint64_t cap) { return 4096u << (cap >> 48 & 0xf); }
constexpr std::uint32_t doorbell_at(std::uint64_t cap, std::uint32_t queue, bool completion) {
  return doorbells + (2 * queue + (completion ? 1 : 0)) * doorbell_stride(cap);
}
// CC: enabled, NVM commands, pages of 4 KiB << page, round robin, entries of 64 and 16 bytes.
constexpr std::uint32_t enable(std::uint32_t page_shift) { return 1u | page_shift << 7 | 6u << 16 | 4u << 20; }
// CSTS
constexpr bool is_ready(std::uint32_t state) { return state & 1; }
constexpr bool is_fatal(std::uint32_t state) { return state >> 1 & 1; }

}  // namespace nvme
}  // namespace garner::lab
