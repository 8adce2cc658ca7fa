import { ClientError, type CustomFetch } from 'openid-client';

const MAX_RESPONSE_BYTES = 1_000_000;

/** The response is too large. Extends an error class of openid-client, which rethrows such errors unchanged. */
export class ResponseTooLarge extends ClientError {
  constructor() {
    super(`the response has more than ${MAX_RESPONSE_BYTES} bytes`);
  }
}

/** `fetch` that reads the whole body within the timeout of the caller. Errors: ResponseTooLarge, errors of `fetch`. */
export const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // An error in the loop closes the connection.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new ResponseTooLarge();
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  return new Response(Buffer.concat(chunks), { status, statusText, headers });
};
