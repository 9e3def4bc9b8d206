/* SPDX-License-Identifier: Apache-2.0 */
#include "job/retry.h"

int job_retry_status(int code, int signal)
{
    return signal ? 128 + signal : code < 0 ? 1 : code;
}

enum job_reason job_retry_reason(int code, int signal, bool out_of_memory, bool unseen)
{
    if (out_of_memory)
        return WHY_OutOfMemory;
    if (unseen)
        return WHY_NodeFailure;
    if (signal)
        return WHY_Signal;
    if (code == 126 || code == 127)
        return WHY_LaunchFailure;
    return code == 0 ? WHY_None : WHY_UserExit;
}

bool job_retry_wanted(const struct job_spec *s, enum job_reason why, int code, int signal,
                      int64_t restarts)
{
    if (restarts >= s->s->retries)
        return false;
    if (job_reason_retry(why))
        return true;
    if (why != WHY_UserExit && why != WHY_Signal)
        return false;
    return jobspec_codes_have(s->s->retry_on, job_retry_status(code, signal));
}

double job_retry_delay(const struct job_spec *s, int64_t restarts)
{
    double delay = s->backoff_s;
    for (int64_t i = 0; i < restarts && delay < s->backoff_max_s; i++)
        delay *= 2;
    return delay < s->backoff_max_s ? delay : s->backoff_max_s;
}
