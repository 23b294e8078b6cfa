// SPDX-License-Identifier: GPL-2.0-only
/* Reads what taskstats says of one task, by generic netlink. */
#include "guest.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record.h"

struct message {
	struct nlmsghdr header;
	struct genlmsghdr command;
	char attributes[4096];
};

static struct nlattr *next_attribute(struct nlattr *attribute)
{
	return (void *)((char *)attribute + NLA_ALIGN(attribute->nla_len));
}

/* Sends a command with one attribute and receives the answer. Returns the first attribute of a type in it, or NULL. */
static struct nlattr *ask(int fd, struct message *message, uint16_t family, uint8_t command, uint16_t type, const void *value,
			  uint16_t length, uint16_t wanted)
{
	struct nlattr *attribute = (void *)message->attributes, *end;
	ssize_t received;

	memset(message, 0, sizeof(*message));
	attribute->nla_type = type;
	attribute->nla_len = NLA_HDRLEN + length;
	memcpy((char *)attribute + NLA_HDRLEN, value, length);
	message->header.nlmsg_type = family;
	message->header.nlmsg_flags = NLM_F_REQUEST;
	message->header.nlmsg_len = offsetof(struct message, attributes) + NLA_ALIGN(attribute->nla_len);
	message->command.cmd = command;
	message->command.version = 1;
	must(send(fd, message, message->header.nlmsg_len, 0) == (ssize_t)message->header.nlmsg_len);
	received = recv(fd, message, sizeof(*message), 0);
	must(received >= (ssize_t)sizeof(message->header));
	if (message->header.nlmsg_type == NLMSG_ERROR)
		return NULL;
	end = (void *)((char *)message + received);
	for (attribute = (void *)message->attributes; attribute < end; attribute = next_attribute(attribute))
		if (attribute->nla_type == wanted)
			return attribute;
	return NULL;
}

bool has_patch(unsigned int number)
{
	const char *series = getenv("guest_series");

	if (series && strtoul(series, NULL, 10) >= number)
		return true;
	printf("# this kernel does not have patch %u\n", number);
	return false;
}

size_t read_taskstats(pid_t tid, struct taskstats *stats)
{
	static uint16_t family;
	static int fd = -1;
	static pid_t owner;
	struct message message;
	struct nlattr *attribute;
	size_t length;
	uint32_t number = tid;

	if (owner != getpid()) {
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
		must(fd >= 0);
		owner = getpid();
		attribute = ask(fd, &message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
				sizeof(TASKSTATS_GENL_NAME), CTRL_ATTR_FAMILY_ID);
		must(attribute);
		memcpy(&family, (char *)attribute + NLA_HDRLEN, sizeof(family));
	}
	attribute = ask(fd, &message, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &number, sizeof(number),
			TASKSTATS_TYPE_AGGR_PID);
	if (!attribute)
		return 0;
	/* Within it: the number, and the record. */
	attribute = (void *)((char *)attribute + NLA_HDRLEN);
	while (attribute->nla_type != TASKSTATS_TYPE_STATS)
		attribute = next_attribute(attribute);
	length = attribute->nla_len - NLA_HDRLEN;
	memset(stats, 0, sizeof(*stats));
	memcpy(stats, (char *)attribute + NLA_HDRLEN, length < sizeof(*stats) ? length : sizeof(*stats));
	return length;
}
