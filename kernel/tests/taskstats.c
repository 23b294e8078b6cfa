// SPDX-License-Identifier: GPL-2.0-only
#include "taskstats.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Attributes of the series. */
enum { HEADER_TYPE = 7, SNAPSHOT_ATTRIBUTE = 5 };

#define LEAST_ROOM (1 << 20)

static int family;

bool has_snapshots(void)
{
	const char *series = getenv("guest_series");
	bool should = series && atoi(series) >= 3;
	int error = ask_by_netlink(open_netlink(), 0, 0);

	if (should != !access("/proc/taskstats", F_OK))
		fail("/proc/taskstats is %s", should ? "missing" : "there");
	if (error != (should ? 0 : EOPNOTSUPP))
		fail("a dump ends with: %s", strerror(error));
	return should;
}

int open_taskstats(void)
{
	int fd = open("/proc/taskstats", O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	return fd;
}

static uint32_t flags_of(uint32_t flags)
{
	return flags & NOT_EXACT ? flags & ~NOT_EXACT : flags | (geteuid() ? 0 : EXACT);
}

int ask(int fd, uint32_t flags, uint64_t cookie)
{
	struct request request = { .flags = flags_of(flags), .cookie = cookie };

	return write(fd, &request, sizeof(request)) == sizeof(request) ? 0 : errno;
}

static void add(struct snapshot *snapshot, const char *record)
{
	size_t size = snapshot->header.record_size;

	snapshot->records = realloc(snapshot->records, (snapshot->count + 1) * size);
	must(snapshot->records);
	memcpy(snapshot->records + snapshot->count++ * size, record, size);
}

struct snapshot take(int fd, uint32_t flags, uint64_t cookie)
{
	struct snapshot snapshot = {};
	size_t done = 0, room = LEAST_ROOM;
	char *buffer = malloc(room);
	int error = ask(fd, flags, cookie);
	ssize_t got;

	if (error)
		fail("a snapshot is refused: %s", strerror(error));
	for (;;) {
		must(buffer);
		got = read(fd, buffer + done, room - done);
		must(got >= 0);
		if (!got)
			break;
		done += got;
		if (room - done < LEAST_ROOM / 2)
			buffer = realloc(buffer, room *= 2);
	}
	must(done >= sizeof(snapshot.header));
	memcpy(&snapshot.header, buffer, sizeof(snapshot.header));
	done -= sizeof(snapshot.header);
	must(!(done % snapshot.header.record_size));
	snapshot.count = done / snapshot.header.record_size;
	memmove(buffer, buffer + sizeof(snapshot.header), done);
	snapshot.records = buffer;
	return snapshot;
}

static struct nlattr *attribute(void *from, int length, int type)
{
	struct nlattr *each = from;

	while (length >= NLA_HDRLEN && each->nla_len >= NLA_HDRLEN) {
		if ((each->nla_type & NLA_TYPE_MASK) == type)
			return each;
		length -= NLA_ALIGN(each->nla_len);
		each = (void *)((char *)each + NLA_ALIGN(each->nla_len));
	}
	return NULL;
}

static void send_message(int fd, int type, int command, int flags, int attribute_type, const void *value, int size)
{
	struct {
		struct nlmsghdr message;
		struct genlmsghdr generic;
		struct nlattr attribute;
		char value[64];
	} request = {
		.message = { .nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN + NLA_HDRLEN + NLA_ALIGN(size)), .nlmsg_type = type,
			     .nlmsg_flags = NLM_F_REQUEST | flags },
		.generic = { .cmd = command, .version = 1 },
		.attribute = { .nla_len = NLA_HDRLEN + size, .nla_type = attribute_type },
	};

	memcpy(request.value, value, size);
	must(send(fd, &request, request.message.nlmsg_len, 0) == (ssize_t)request.message.nlmsg_len);
}

int open_netlink(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	char answer[4096];
	struct nlattr *id;
	ssize_t got;

	must(fd >= 0);
	send_message(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
		     sizeof(TASKSTATS_GENL_NAME));
	got = recv(fd, answer, sizeof(answer), 0);
	must(got > (ssize_t)NLMSG_LENGTH(GENL_HDRLEN));
	id = attribute(answer + NLMSG_LENGTH(GENL_HDRLEN), got - NLMSG_LENGTH(GENL_HDRLEN), CTRL_ATTR_FAMILY_ID);
	must(id);
	family = *(uint16_t *)((char *)id + NLA_HDRLEN);
	return fd;
}

/* A message with the header, or with a record. */
static void add_message(struct snapshot *snapshot, char *from, int length)
{
	struct nlattr *found = attribute(from, length, HEADER_TYPE);

	if (found) {
		must(!snapshot->header.version);
		memcpy(&snapshot->header, (char *)found + NLA_HDRLEN, sizeof(snapshot->header));
		return;
	}
	found = attribute(from, length, TASKSTATS_TYPE_AGGR_PID);
	if (!found)
		found = attribute(from, length, TASKSTATS_TYPE_AGGR_TGID);
	must(found);
	found = attribute((char *)found + NLA_HDRLEN, found->nla_len - NLA_HDRLEN, TASKSTATS_TYPE_STATS);
	must(found && found->nla_len == NLA_HDRLEN + snapshot->header.record_size);
	add(snapshot, (char *)found + NLA_HDRLEN);
}

/* Sends a request, and adds what comes to a snapshot. */
static int dump(int fd, uint32_t flags, uint64_t cookie, struct snapshot *snapshot)
{
	struct request request = { .flags = flags_of(flags), .cookie = cookie };
	static char answer[65536];
	struct nlmsghdr *message;
	int got;

	send_message(fd, family, TASKSTATS_CMD_GET, NLM_F_DUMP, SNAPSHOT_ATTRIBUTE, &request, sizeof(request));
	for (;;) {
		got = recv(fd, answer, sizeof(answer), 0);
		must(got > 0);
		for (message = (void *)answer; NLMSG_OK(message, got); message = NLMSG_NEXT(message, got)) {
			if (message->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(message))->error;
			if (message->nlmsg_type == NLMSG_DONE)
				return -*(int *)NLMSG_DATA(message);
			add_message(snapshot, (char *)NLMSG_DATA(message) + GENL_HDRLEN,
				    message->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN));
		}
	}
}

void begin_dump(int fd, uint32_t flags)
{
	struct request request = { .flags = flags_of(flags) };
	char answer[16384];

	send_message(fd, family, TASKSTATS_CMD_GET, NLM_F_DUMP, SNAPSHOT_ATTRIBUTE, &request, sizeof(request));
	must(recv(fd, answer, sizeof(answer), 0) > 0);
}

void begin_exits(int fd, const char *cpus)
{
	send_message(fd, family, TASKSTATS_CMD_GET, 0, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus, strlen(cpus) + 1);
}

int end_exits(int fd, const char *cpus, struct taskstats *records, int most)
{
	static char answer[65536];
	struct nlmsghdr *message = (void *)answer;
	struct nlattr *found;
	int got, count = 0;

	/* Otherwise the next socket of this process hears of exits: it gets the same address. */
	send_message(fd, family, TASKSTATS_CMD_GET, 0, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, cpus, strlen(cpus) + 1);
	while ((got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT)) > 0) {
		if (message->nlmsg_type != family || count == most)
			continue;
		found = attribute((char *)NLMSG_DATA(message) + GENL_HDRLEN, message->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN),
				  TASKSTATS_TYPE_AGGR_PID);
		if (!found)
			continue;
		found = attribute((char *)found + NLA_HDRLEN, found->nla_len - NLA_HDRLEN, TASKSTATS_TYPE_STATS);
		must(found && (size_t)found->nla_len - NLA_HDRLEN <= sizeof(*records));
		memset(&records[count], 0, sizeof(*records));
		memcpy(&records[count++], (char *)found + NLA_HDRLEN, found->nla_len - NLA_HDRLEN);
	}
	return count;
}

int ask_by_netlink(int fd, uint32_t flags, uint64_t cookie)
{
	struct snapshot snapshot = {};
	int error = dump(fd, flags, cookie, &snapshot);

	free(snapshot.records);
	return error;
}

struct snapshot take_by_netlink(int fd, uint32_t flags, uint64_t cookie)
{
	struct snapshot snapshot = {};
	int error = dump(fd, flags, cookie, &snapshot);

	if (error)
		fail("a dump is refused: %s", strerror(error));
	return snapshot;
}

const char *find_record(const struct snapshot *snapshot, pid_t pid)
{
	const char *record = snapshot->records;

	for (size_t i = 0; i < snapshot->count; i++, record += snapshot->header.record_size)
		if (field32(record, PID) == (uint32_t)pid)
			return record;
	return NULL;
}

uint64_t field64(const char *record, int offset)
{
	uint64_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

uint32_t field32(const char *record, int offset)
{
	uint32_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}
