import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { BODIES, type ChannelDraft } from './channel-draft.ts';
import { isJson } from './json-text.ts';
import { NamedValues } from './named-values.tsx';
import { TEMPLATE_EXAMPLES, type TemplateExample } from './template-examples.ts';
import { channelTexts } from './texts.ts';

interface WebhookFieldsProps {
  readonly draft: ChannelDraft;
  readonly onChange: (part: Partial<ChannelDraft>) => void;
}

const EXAMPLES = Object.keys(TEMPLATE_EXAMPLES) as readonly TemplateExample[];
const ROUTING_KEY = 'routingKey';

/** The receiver of a webhook, its secrets, and the body of the requests. */
export function WebhookFields({ draft, onChange }: WebhookFieldsProps) {
  const text = useTexts(channelTexts);
  const { url, isSigned, headers, credentials, body, template, document, variables } = draft;
  const example = EXAMPLES.find((name) => TEMPLATE_EXAMPLES[name] === template);
  const take = (name: TemplateExample) => {
    const isMissing = name === 'PagerDuty' && credentials.every((credential) => credential.name !== ROUTING_KEY);
    onChange({
      template: TEMPLATE_EXAMPLES[name],
      ...(isMissing && { credentials: [...credentials, { name: ROUTING_KEY, value: '' }] }),
    });
  };
  return (
    <>
      <Field label={text('url')} hint={text('urlHint')}>
        <input
          type="url"
          required={true}
          spellCheck={false}
          autoComplete="off"
          placeholder="https://alerts.example.com/hook"
          value={url}
          onInput={({ currentTarget: { value } }) => onChange({ url: value })}
        />
      </Field>
      <label className="choice">
        <input
          type="checkbox"
          checked={isSigned}
          onChange={({ currentTarget: { checked } }) => onChange({ isSigned: checked })}
        />
        <span>
          {text('sign')} <small>{text('signHint')}</small>
        </span>
      </label>
      <NamedValues title={text('headers')} values={headers} onChange={(values) => onChange({ headers: values })} />
      <Field label={text('body')} hint={text(`${body}Hint`)}>
        <select
          value={body}
          onChange={({ currentTarget: { value } }) =>
            onChange({ body: BODIES.find((known) => known === value) ?? body })
          }
        >
          {BODIES.map((one) => (
            <option key={one} value={one}>
              {text(one)}
            </option>
          ))}
        </select>
      </Field>
      {body === 'TEMPLATE' && (
        <>
          <p className="presets">
            {text('examples')}
            {EXAMPLES.map((name) => (
              <button key={name} type="button" aria-pressed={name === example} onClick={() => take(name)}>
                {name}
              </button>
            ))}
          </p>
          <Field label={text('template')} hint={example === undefined ? undefined : text(`${example}Hint`)}>
            <textarea
              rows={10}
              required={true}
              maxLength={16_000}
              spellCheck={false}
              value={template}
              onInput={({ currentTarget: { value } }) => onChange({ template: value })}
            />
          </Field>
          <NamedValues
            title={text('credentials')}
            values={credentials}
            onChange={(values) => onChange({ credentials: values })}
          />
        </>
      )}
      {body === 'DOCUMENT' && (
        <>
          <Field label={text('document')}>
            <textarea
              rows={7}
              required={true}
              spellCheck={false}
              value={document}
              onInput={({ currentTarget: { value } }) => onChange({ document: value })}
            />
          </Field>
          <Field label={text('variables')} hint={isJson(variables) ? undefined : text('badJson')}>
            <textarea
              rows={2}
              spellCheck={false}
              aria-invalid={!isJson(variables)}
              value={variables}
              onInput={({ currentTarget: { value } }) => onChange({ variables: value })}
            />
          </Field>
        </>
      )}
    </>
  );
}
