/* SPDX-License-Identifier: GPL-2.0-only */
/* Members are where the compiler puts them: there is one kernel, that of ../machine.c. */
#define bpf_core_field_exists(member) 1
#define bpf_core_enum_value(type, value) (value)
/* The cpu controller has no hierarchy of its own. */
#define bpf_core_enum_value_exists(type, value) 0
#define __builtin_preserve_access_index(member) (member)
#define BPF_CORE_READ(object, member) ((object)->member)
#define BPF_CORE_READ_BITFIELD(object, member) ((object)->member)
