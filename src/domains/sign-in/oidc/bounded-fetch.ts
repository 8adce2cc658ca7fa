import { promisify } from 'node:util';
import { ClientError, type CustomFetch } from 'openid-client';
import { unbracketed } from '../../../platform/network/addresses.ts';
import { hasFewShapes, TOO_MANY_SHAPES } from '../../../platform/text/json-bounds.ts';
import { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';

const MAX_RESPONSE_BYTES = 1_000_000;

/** The response is too large. Extends an error class of openid-client, which rethrows such errors unchanged. */
export class ResponseTooLarge extends ClientError {}

/** An endpoint in the metadata of the provider leads to this machine, its network link or a metadata service. */
class EndpointNotAllowed extends ClientError {}

/**
 * `fetch` that reads the whole body within the timeout of the caller. A provider elsewhere must not lead it to internal
 * addresses; the operator may choose one for the issuer. Errors: EndpointNotAllowed, ResponseTooLarge, and those of
 * `fetch`.
 */
export const boundedFetch =
  (issuer: string): CustomFetch =>
  async (url, options) => {
    if (new URL(url).hostname !== new URL(issuer).hostname) await requireOutside(url, issuer);
    return readWhole(await fetch(url, options as RequestInit));
  };

async function requireOutside(url: string, issuer: string): Promise<void> {
  const hosts = new AllowedHosts([], 'NONE');
  if (hosts.refusal(new URL(issuer).hostname) !== null) return;
  const { lookup } = hosts;
  try {
    if (lookup !== undefined) await promisify(lookup)(unbracketed(new URL(url).hostname), { all: true });
  } catch {
    throw new EndpointNotAllowed(`the host of the endpoint ${url.slice(0, 200)} cannot be resolved, or is internal`);
  }
}

async function readWhole(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // An error in the loop closes the connection.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES)
      throw new ResponseTooLarge(`the response has more than ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (!hasFewShapes(body)) throw new ResponseTooLarge(TOO_MANY_SHAPES);
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
