import { BadBatch, type SinkFailure } from '../../../data-plane/bridges/sink/sink.ts';
import { answerFailure, requestFailure } from '../../../data-plane/bridges/webhook/webhook-answer.ts';
import { WebhookRequests } from '../../../data-plane/bridges/webhook/webhook-requests.ts';
import { signaturesOf } from '../../../data-plane/bridges/webhook/webhook-signature.ts';
import type { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import { TemplateError } from '../channels/body-template.ts';
import type { WebhookSecrets } from '../channels/channel-target.ts';
import type { NotificationContent } from '../notification-content.ts';
import { ATTEMPT_MS, delivered, failed, KEPT_BYTES, type Message, type Outcome, shownResponse } from './sender.ts';

interface WebhookOptions extends Omit<WebhookSecrets, 'credentials'> {
  /** Errors: TemplateError. */
  readonly bodyOf: (content: NotificationContent) => string | Promise<string>;
  /** Checked again when the host name is resolved. */
  readonly hosts: AllowedHosts;
}

/** Sends a message by POST, signed by Standard Webhooks. Redirects are not followed. Never rejects. */
export async function sendWebhook({ id, content }: Message, options: WebhookOptions): Promise<Outcome> {
  const { url, secret, headers, bodyOf, hosts } = options;
  try {
    const body = Buffer.from(await bodyOf(content));
    const timestamp = Math.floor(Date.now() / 1_000);
    const refusal = hosts.refusal(new URL(url).hostname);
    if (refusal !== null) return failed(`The host of the URL ${refusal}`);
    return await post(new WebhookRequests(url, {}, hosts.lookup, KEPT_BYTES), body, {
      'user-agent': 'brokergraph',
      ...headers,
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      ...(secret === null ? {} : { 'webhook-signature': signaturesOf(secret, id, timestamp, body) }),
    });
  } catch (error) {
    if (error instanceof TemplateError) return failed(`The template ${error.message}`, { isRefused: true });
    throw error;
  }
}

async function post(requests: WebhookRequests, body: Buffer, headers: Readonly<Record<string, string>>) {
  const deadline = AbortSignal.timeout(ATTEMPT_MS);
  try {
    const answer = await requests.post(body, headers, deadline);
    const response = answer.body.toString();
    const failure = answerFailure(answer.status, answer.retryAfter);
    if (failure === null) return delivered(answer.status, response);
    return failed(failure.message, { status: answer.status, response: shownResponse(response), ...detailOf(failure) });
  } catch (error) {
    if (deadline.aborted) return failed(`The endpoint did not respond within ${ATTEMPT_MS} ms`);
    return failed(requestFailure(error).message);
  } finally {
    requests.close();
  }
}

function detailOf(failure: SinkFailure | BadBatch): Pick<Outcome, 'isRefused' | 'retryAfterMs'> {
  if (failure instanceof BadBatch) return { isRefused: true };
  const { isFinal = false, retryAfterMs } = failure.detail;
  return { isRefused: isFinal, retryAfterMs };
}

/** `data` is the problem, or in a digest `{ problems }`. */
export function defaultBody({ type, timestamp, notices }: NotificationContent): string {
  const [first] = notices;
  return JSON.stringify({ type, timestamp, data: type === 'problem.digest' ? { problems: notices } : first });
}
