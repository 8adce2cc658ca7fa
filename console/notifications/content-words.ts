import { titleTexts } from '../problems/title-texts.ts';
import { useTexts } from '../texts/texts.ts';
import { channelTexts } from './texts.ts';

/** As much of a message as its line shows. */
interface Content {
  readonly notices?: readonly {
    readonly change: 'OPENED' | 'CLOSED';
    readonly kind: keyof typeof titleTexts.en;
    readonly subject: { readonly name: string };
  }[];
}

/** Problems that are named; of further ones the number is shown. */
const MAX_NAMED = 3;

/** What a message is about, in words. */
export function useContentWords(): (content: unknown) => string {
  const text = useTexts(channelTexts);
  const titleOf = useTexts(titleTexts);
  return (content) => {
    // JSON of the service, for which the graph has no type.
    const { notices = [] } = content as Content;
    const named = notices
      .slice(0, MAX_NAMED)
      .map(({ change, kind, subject }) => text(`was${change}`, { title: titleOf(kind), name: subject.name }));
    const more = notices.length - named.length;
    return [...named, ...(more > 0 ? [text('andMore', { count: more })] : [])].join(' · ');
  };
}
