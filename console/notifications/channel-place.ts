import { createContext, useContext } from 'react';

/** Whose problems the channels are about, and where their screens are. */
interface ChannelPlace {
  /** `null`: those of the service itself. */
  readonly projectId: string | null;
  readonly address: string;
}

export const ChannelPlaceContext = createContext<ChannelPlace | null>(null);

interface KnownPlace {
  readonly projectId: string | null;
  /** Address of the list, of a channel, and of its form. */
  readonly channelAddress: (...parts: readonly string[]) => string;
}

export function useChannelPlace(): KnownPlace {
  const place = useContext(ChannelPlaceContext);
  if (place === null) throw new Error('Only screens of channels have a place');
  const { projectId, address } = place;
  return { projectId, channelAddress: (...parts) => [address, ...parts].join('/') };
}
