import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { ClientError, type CustomFetch, type CustomFetchOptions } from 'openid-client';
import { boundInterim, boundPieces } from '../../../platform/network/http-bounds.ts';
import { OUTGOING_TLS } from '../../../platform/network/outgoing-tls.ts';
import { keepCertificate } from '../../../platform/network/tls-failure.ts';
import { hasFewShapes, TOO_MANY_SHAPES } from '../../../platform/text/json-bounds.ts';
import { withoutNulls } from '../../../platform/without-nulls.ts';
import { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';

const MAX_RESPONSE_BYTES = 1_000_000;

/** The response is too large. Extends an error class of openid-client, which rethrows such errors unchanged. */
export class ResponseTooLarge extends ClientError {}

/** An endpoint in the metadata of the provider leads to this machine, its network link or a metadata service. */
class EndpointNotAllowed extends ClientError {}

/**
 * `fetch` that reads the whole body within the timeout of the caller. A provider elsewhere must not lead it to internal
 * addresses; the operator may choose one for the issuer. The global `fetch` has no limits of its own, and resolves a
 * name again after a check. Redirects are not followed. Errors: EndpointNotAllowed, ResponseTooLarge, those of `fetch`.
 */
export const boundedFetch =
  (issuer: string): CustomFetch =>
  async (url, options) => {
    const hosts = hostsOf(new URL(url).hostname, new URL(issuer).hostname);
    const sent = options.body == null ? null : Buffer.from(await new Response(options.body as BodyInit).arrayBuffer());
    const response = await send(new URL(url), options, sent, hosts);
    const { statusCode: status = 0, statusMessage: statusText = '', headersDistinct } = response;
    const body = await readWhole(response, options.signal);
    const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return new Response(body.length === 0 ? null : body, { status, statusText, headers });
  };

function hostsOf(host: string, issuerHost: string): AllowedHosts {
  const outside = new AllowedHosts([], 'NONE');
  return host === issuerHost || outside.refusal(issuerHost) !== null ? new AllowedHosts([]) : outside;
}

function send(url: URL, { method, headers, signal }: CustomFetchOptions, body: Buffer | null, hosts: AllowedHosts) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const notAllowed = () =>
      new EndpointNotAllowed(`the host of the endpoint ${url.href.slice(0, 200)} is internal, or has no other address`);
    if (hosts.refusal(url.hostname) !== null) throw notAllowed();
    const { lookup } = hosts;
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      headers: { ...headers, 'accept-encoding': 'identity' },
      agent: false,
      ...OUTGOING_TLS,
      ...withoutNulls({ signal, lookup }),
    });
    boundInterim(request);
    request.on('socket', keepCertificate);
    request.on('error', (cause: Error & { readonly code?: string }) => {
      if (signal?.aborted) reject(signal.reason);
      else reject(cause.code === 'EHOSTNOTALLOWED' ? notAllowed() : new TypeError('fetch failed', { cause }));
    });
    request.on('response', (response) => {
      // What was received with the last interim response is still parsed.
      if (request.destroyed) return;
      // Now: the first chunks follow before the promise continues.
      boundPieces(response);
      resolve(response);
    });
    request.end(body);
  });
}

async function readWhole(response: IncomingMessage, signal: AbortSignal | undefined): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // An error in the loop closes the connection.
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > MAX_RESPONSE_BYTES)
        throw new ResponseTooLarge(`the response has more than ${MAX_RESPONSE_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    throw cause instanceof ResponseTooLarge ? cause : new TypeError('terminated', { cause });
  }
  const body = Buffer.concat(chunks);
  if (!hasFewShapes(body)) throw new ResponseTooLarge(TOO_MANY_SHAPES);
  return body;
}
