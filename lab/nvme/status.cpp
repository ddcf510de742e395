// Statuses in the words of the specification (1.4, figures 127 to 131).
#include <fmt/format.h>

#include <string_view>

#include "lab/nvme/format.hpp"

namespace garner::lab::nvme {

namespace {
struct named {
  std::uint32_t code;  // and type
  std::string_view name;
};
constexpr named names[] = {
    {status(0, 0x00), "Successful Completion"},
    {status(0, 0x01), "Invalid Command Opcode"},
    {status(0, 0x02), "Invalid Field in Command"},
    {status(0, 0x03), "Command ID Conflict"},
    {status(0, 0x04), "Data Transfer Error"},
    {status(0, 0x05), "Commands Aborted due to Power Loss Notification"},
    {status(0, 0x06), "Internal Error"},
    {status(0, 0x07), "Command Abort Requested"},
    {status(0, 0x08), "Command Aborted due to SQ Deletion"},
    {status(0, 0x09), "Command Aborted due to Failed Fused Command"},
    {status(0, 0x0a), "Command Aborted due to Missing Fused Command"},
    {status(0, 0x0b), "Invalid Namespace or Format"},
    {status(0, 0x0c), "Command Sequence Error"},
    {status(0, 0x0d), "Invalid SGL Segment Descriptor"},
    {status(0, 0x0e), "Invalid Number of SGL Descriptors"},
    {status(0, 0x0f), "Data SGL Length Invalid"},
    {status(0, 0x10), "Metadata SGL Length Invalid"},
    {status(0, 0x11), "SGL Descriptor Type Invalid"},
    {status(0, 0x12), "Invalid Use of Controller Memory Buffer"},
    {status(0, 0x13), "PRP Offset Invalid"},
    {status(0, 0x14), "Atomic Write Unit Exceeded"},
    {status(0, 0x15), "Operation Denied"},
    {status(0, 0x16), "SGL Offset Invalid"},
    {status(0, 0x18), "Host Identifier Inconsistent Format"},
    {status(0, 0x19), "Keep Alive Timer Expired"},
    {status(0, 0x1a), "Keep Alive Timeout Invalid"},
    {status(0, 0x1b), "Command Aborted due to Preempt and Abort"},
    {status(0, 0x1c), "Sanitize Failed"},
    {status(0, 0x1d), "Sanitize In Progress"},
    {status(0, 0x1e), "SGL Data Block Granularity Invalid"},
    {status(0, 0x1f), "Command Not Supported for Queue in CMB"},
    {status(0, 0x20), "Namespace is Write Protected"},
    {status(0, 0x21), "Command Interrupted"},
    {status(0, 0x22), "Transient Transport Error"},
    {status(0, 0x80), "LBA Out of Range"},
    {status(0, 0x81), "Capacity Exceeded"},
    {status(0, 0x82), "Namespace Not Ready"},
    {status(0, 0x83), "Reservation Conflict"},
    {status(0, 0x84), "Format In Progress"},
    {status(1, 0x00), "Completion Queue Invalid"},
    {status(1, 0x01), "Invalid Queue Identifier"},
    {status(1, 0x02), "Invalid Queue Size"},
    {status(1, 0x03), "Abort Command Limit Exceeded"},
    {status(1, 0x05), "Asynchronous Event Request Limit Exceeded"},
    {status(1, 0x06), "Invalid Firmware Slot"},
    {status(1, 0x07), "Invalid Firmware Image"},
    {status(1, 0x08), "Invalid Interrupt Vector"},
    {status(1, 0x09), "Invalid Log Page"},
    {status(1, 0x0a), "Invalid Format"},
    {status(1, 0x0b), "Firmware Activation Requires Conventional Reset"},
    {status(1, 0x0c), "Invalid Queue Deletion"},
    {status(1, 0x0d), "Feature Identifier Not Saveable"},
    {status(1, 0x0e), "Feature Not Changeable"},
    {status(1, 0x0f), "Feature Not Namespace Specific"},
    {status(1, 0x80), "Conflicting Attributes"},
    {status(1, 0x81), "Invalid Protection Information"},
    {status(1, 0x82), "Attempted Write to Read Only Range"},
    {status(2, 0x80), "Write Fault"},
    {status(2, 0x81), "Unrecovered Read Error"},
    {status(2, 0x82), "End-to-end Guard Check Error"},
    {status(2, 0x83), "End-to-end Application Tag Check Error"},
    {status(2, 0x84), "End-to-end Reference Tag Check Error"},
    {status(2, 0x85), "Compare Failure"},
    {status(2, 0x86), "Access Denied"},
    {status(2, 0x87), "Deallocated or Unwritten Logical Block"},
    {status(3, 0x00), "Internal Path Error"},
    {status(3, 0x01), "Asymmetric Access Persistent Loss"},
    {status(3, 0x02), "Asymmetric Access Inaccessible"},
    {status(3, 0x03), "Asymmetric Access Transition"},
    {status(3, 0x60), "Controller Pathing Error"},
    {status(3, 0x70), "Host Pathing Error"},
    {status(3, 0x71), "Command Aborted By Host"},
};
constexpr std::string_view types[] = {"a generic status",  "a status of its command", "a media error",     "a path error",
                                      "a reserved status", "a reserved status",       "a reserved status", "a status of the vendor's"};
}  // namespace

std::string status_name(std::uint32_t s) {
  std::uint32_t const type = s >> 8 & 7, code = s & 0xff;
  std::string_view name = types[type];
  for (named const& n : names)
    if (n.code == (s & code_bits)) name = n.name;
  return fmt::format("{} (type {}, code {:02x}h{})", name, type, code, s & final_bit ? ", not to be tried again" : "");
}

}  // namespace garner::lab::nvme
