/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 waits at MASTER_ADDR:MASTER_PORT until every other rank has said its number, and
 * answers with its own; each prints whom it met. Needs nothing of the machine it runs on.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TRIES 600 /* of 50 ms */

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : -1;
}

static int host(const struct sockaddr_in *a, int world)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 || listen(fd, world) < 0) {
        perror("listen");
        return 1;
    }
    for (int i = 1; i < world; i++) {
        unsigned char rank = 0;
        int peer = accept(fd, NULL, NULL);
        if (read(peer, &rank, 1) != 1)
            return 1;
        printf("met rank %d\n", rank);
        rank = 0;
        if (write(peer, &rank, 1) != 1)
            return 1;
        close(peer);
    }
    return 0;
}

static int visit(const struct sockaddr_in *a, int rank)
{
    unsigned char byte = (unsigned char)rank;
    for (int i = 0; i < TRIES; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0) {
            if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
                return 1;
            printf("met rank %d\n", byte);
            return 0;
        }
        close(fd);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    perror("connect");
    return 1;
}

/* A number, or a name, which a cluster may know a moment later. */
static int resolve(const char *name, struct in_addr *out)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM},
                    *list = NULL;
    for (int i = 0; i < TRIES; i++) {
        if (getaddrinfo(name, NULL, &hints, &list) == 0) {
            *out = ((struct sockaddr_in *)(void *)list->ai_addr)->sin_addr;
            freeaddrinfo(list);
            return 1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return 0;
}

int main(void)
{
    const char *master = getenv("MASTER_ADDR");
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)number("MASTER_PORT"))};
    if (!master || !resolve(master, &a.sin_addr)) {
        fprintf(stderr, "no address for '%s'\n", master ? master : "");
        return 2;
    }
    int rank = number("RANK");
    return rank == 0 ? host(&a, number("WORLD_SIZE")) : visit(&a, rank);
}
