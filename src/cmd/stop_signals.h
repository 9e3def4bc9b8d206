/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/stop_signals.h - what asks a long run to save and end: SIGTERM, SIGINT, SIGUSR1,
 * SIGHUP (unless it is ignored, as under nohup), and a stdout or stderr that nobody reads any more.
 */
#ifndef CMD_STOP_SIGNALS_H
#define CMD_STOP_SIGNALS_H

#include <stdbool.h>

/* From now on these wait to be asked for; an fd to close(), or -1. */
int stop_signals_watch(void);
/* A run that `launch` started is asked by SIGUSR1: SIGTERM ends it at once again. */
void stop_signals_launched(void);
/* True once one has come. A second SIGTERM or SIGINT then ends the program at once. */
bool stop_signals_came(int fd);

#endif
