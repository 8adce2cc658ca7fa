import { useProject } from '../project/project-context.ts';
import { ChannelPlaceContext } from './channel-place.ts';
import { Channels } from './channels.tsx';

export function Notifications() {
  const { id } = useProject();
  return (
    <ChannelPlaceContext.Provider value={{ projectId: id, address: `/projects/${id}/notifications` }}>
      <Channels />
    </ChannelPlaceContext.Provider>
  );
}
