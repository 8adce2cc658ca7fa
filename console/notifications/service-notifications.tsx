import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { ChannelPlaceContext } from './channel-place.ts';
import { Channels } from './channels.tsx';
import { channelTexts } from './texts.ts';

const OF_SERVICE = { projectId: null, address: '/notifications' } as const;

/** The notification channels of the service itself, for root administrators. */
export function ServiceNotifications() {
  const text = useTexts(channelTexts);
  return (
    <ChannelPlaceContext.Provider value={OF_SERVICE}>
      <header className="screen">
        <PageHeading>{text('notifications')}</PageHeading>
        <span className="quiet">{text('ofService')}</span>
      </header>
      <Channels />
    </ChannelPlaceContext.Provider>
  );
}
