import { MessageSquare } from 'lucide-react';
import { memo } from 'react';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Empty } from '../ui/empty.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { TailedMessage } from './message-tail.ts';
import { type Format, payloadText, shortText } from './payload.ts';
import { messageTexts } from './texts.ts';

interface MessageListProps {
  readonly messages: readonly TailedMessage[];
  /** Only messages whose topic or payload contains it are shown. */
  readonly search: string;
  readonly format: Format;
  readonly onSelect: (message: TailedMessage) => void;
}

/** Messages, newest first. Rendered again only if the list is another one. */
export const MessageList = memo(function MessageList({ messages, search, format, onSelect }: MessageListProps) {
  const text = useTexts(messageTexts);
  const numberText = useNumbers();
  const wanted = search.toLowerCase();
  const shown = messages.filter(
    ({ topic, payload }) => topic.toLowerCase().includes(wanted) || payload?.toLowerCase().includes(wanted),
  );
  const columns: Column<TailedMessage>[] = [
    {
      key: 'time',
      title: text('time'),
      cell: ({ receivedAt }) => <Time at={receivedAt} />,
      value: ({ receivedAt }) => receivedAt,
    },
    {
      key: 'topic',
      title: text('topic'),
      cell: (message) => (
        <button type="button" className="link" onClick={() => onSelect(message)}>
          {message.topic}
        </button>
      ),
      value: ({ topic }) => topic,
    },
    {
      key: 'payload',
      title: text('payload'),
      cell: (message) => <code>{shortText(payloadText(message, format))}</code>,
      value: (message) => payloadText(message, format),
    },
    {
      key: 'size',
      title: text('bytes'),
      cell: ({ payloadBytes }) => numberText(payloadBytes),
      value: ({ payloadBytes }) => payloadBytes,
      isNumber: true,
    },
    { key: 'retain', title: text('retained'), cell: ({ retain }) => (retain ? text('yes') : '') },
  ];
  if (messages.length === 0) return <Empty icon={MessageSquare} title={text('noMessages')} />;
  if (shown.length === 0) return <NoMatch title={text('noMatch')} keys={['show']} />;
  return <Table label={text('messages')} columns={columns} rows={shown} keyOf={({ key }) => String(key)} />;
});
