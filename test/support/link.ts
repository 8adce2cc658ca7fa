import { onTestFinished } from 'vitest';
import { BrokerLink } from '../../src/protocol/mqtt/broker-link.ts';
import type { BrokerSession, LinkState, LinkStatus } from '../../src/protocol/mqtt/broker-session.ts';
import type { BrokerLinkOptions } from '../../src/protocol/mqtt/link-options.ts';

/** Opens a link, which is closed after the test. */
export function openLink(options: Partial<BrokerLinkOptions> & { readonly url: string }): BrokerLink {
  const link = new BrokerLink({
    id: 'test',
    timeoutMs: 30_000,
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
  onTestFinished(() => link.close());
  link.open();
  return link;
}

export async function connectedLink(
  options: Partial<BrokerLinkOptions> & { readonly url: string },
): Promise<BrokerLink> {
  const link = openLink(options);
  await reached(link, 'CONNECTED');
  return link;
}

export function reached(session: Pick<BrokerSession, 'status' | 'onStatus'>, state: LinkState): Promise<LinkStatus> {
  if (session.status.state === state) return Promise.resolve(session.status);
  return new Promise((resolve) => {
    const stop = session.onStatus((status) => {
      if (status.state !== state) return;
      stop();
      resolve(status);
    });
  });
}
