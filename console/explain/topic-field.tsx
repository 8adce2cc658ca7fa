import { useId } from 'react';
import { TopicSuggestions } from '../access/topic-suggestions.tsx';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';

interface TopicFieldProps {
  readonly value: string;
  readonly onChange: (topic: string) => void;
}

/** A topic, with the topics of the rules as suggestions. */
export function TopicField({ value, onChange }: TopicFieldProps) {
  const text = useTexts();
  const topics = useId();
  return (
    <>
      <Field label={text('topic')}>
        <input
          list={topics}
          value={value}
          required
          onInput={({ currentTarget: { value: topic } }) => onChange(topic)}
        />
      </Field>
      <TopicSuggestions id={topics} typed={value} />
    </>
  );
}
