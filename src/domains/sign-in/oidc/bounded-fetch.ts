import { ClientError, type CustomFetch } from 'openid-client';

/** Of one answer: what a provider says of itself, its keys, tokens, what it knows of a person. */
const MAX_ANSWER_BYTES = 1_000_000;

/** The provider answered more than is read of any answer. As the client's own errors are, so that it throws it on as it is. */
export class TooLargeAnswer extends ClientError {
  constructor() {
    super(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
  }
}

/** fetch, with all of the answer read within the time that the caller gives for it. Errors: TooLargeAnswer, those of fetch. */
export const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Whoever leaves the loop ends the connection.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new TooLargeAnswer();
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  return new Response(Buffer.concat(chunks), { status, statusText, headers });
};
