import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { type Channel, DELETE, UPDATE } from './channel-graph.ts';
import { useChannelPlace } from './channel-place.ts';
import { TestChannel } from './test-channel.tsx';
import { channelTexts } from './texts.ts';

/** Tests, changes, switches off and deletes a channel. */
export function ChannelActions({ channel, onChanged }: { readonly channel: Channel; readonly onChanged: () => void }) {
  const text = useTexts(channelTexts);
  const notify = useNotices();
  const { channelAddress } = useChannelPlace();
  const [, navigate] = useLocation();
  const update = useMutation(UPDATE);
  const remove = useMutation(DELETE);
  const [open, setOpen] = useState<'test' | 'delete' | null>(null);
  const { id, name, isActive } = channel;
  const close = () => setOpen(null);
  const turn = async () => {
    if ((await update.run({ input: { channelId: id, isActive: !isActive } })) === null) return;
    notify(text(isActive ? 'turnedOff' : 'turnedOn', { name }));
    onChanged();
  };
  const deleteIt = async () => {
    if ((await remove.run({ input: { channelId: id } })) === null) return;
    notify(text('deleted', { name }));
    close();
    onChanged();
    navigate(channelAddress());
  };
  return (
    <>
      <RowMenu name={name}>
        <button type="button" onClick={() => setOpen('test')}>
          {text('test')}
        </button>
        <Link href={channelAddress(id, 'edit')}>{text('change')}</Link>
        <button type="button" onClick={() => void turn()}>
          {text(isActive ? 'turnOff' : 'turnOn')}
        </button>
        <button type="button" className="danger" onClick={() => setOpen('delete')}>
          {text('delete')}
        </button>
      </RowMenu>
      <Refusal error={update.error} />
      {open === 'test' && <TestChannel channel={channel} onClose={close} />}
      {open === 'delete' && (
        <Confirmation
          title={text('deleteOf', { name })}
          action={text('deleteOf', { name })}
          isDestructive={true}
          isBusy={remove.isBusy}
          error={remove.error}
          onConfirm={() => void deleteIt()}
          onClose={close}
        >
          <p>{text('deleteMeans')}</p>
        </Confirmation>
      )}
    </>
  );
}
