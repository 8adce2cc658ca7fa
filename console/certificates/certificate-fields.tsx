import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { pemParts } from './pem-parts.ts';
import { certificateTexts } from './texts.ts';

/** An empty value is not sent, except `cert` and `filename`. */
export interface NewCertificate {
  readonly filename: string;
  readonly name: string;
  readonly cert: string;
  readonly privateKey: string;
}

interface CertificateFieldsProps {
  readonly values: NewCertificate;
  readonly onChange: (part: Partial<NewCertificate>) => void;
}

const PEM_ROWS = 6;

/** The fields of a certificate and its key, which are also filled from files. */
export function CertificateFields({ values, onChange }: CertificateFieldsProps) {
  const text = useTexts(certificateTexts);
  const { filename, name, cert, privateKey } = values;
  const read = async (files: readonly File[]) => {
    const parts = await Promise.all(files.map(async (file) => ({ file, ...pemParts(await file.text()) })));
    const all = (kind: 'certificates' | 'key') =>
      parts
        .map((part) => part[kind])
        .filter((pem) => pem !== '')
        .join('\n');
    const [certificates, key] = [all('certificates'), all('key')];
    const named = parts.find((part) => part.certificates !== '')?.file.name;
    onChange({
      ...(certificates !== '' && { cert: certificates }),
      ...(key !== '' && { privateKey: key }),
      ...(filename === '' && named !== undefined && { filename: named }),
    });
  };
  return (
    <div className="fields">
      <Field label={text('files')} hint={text('filesHint')}>
        <input
          type="file"
          accept=".pem,.crt,.cer,.key"
          multiple={true}
          onChange={({ currentTarget }) => void read([...(currentTarget.files ?? [])])}
        />
      </Field>
      <Field label={text('cert')} hint={text('certHint')}>
        <textarea
          rows={PEM_ROWS}
          required={true}
          spellCheck={false}
          value={cert}
          onInput={({ currentTarget: { value } }) => onChange({ cert: value })}
        />
      </Field>
      <Field label={text('privateKey')} hint={text('keyHint')}>
        <textarea
          rows={PEM_ROWS / 2}
          spellCheck={false}
          value={privateKey}
          onInput={({ currentTarget: { value } }) => onChange({ privateKey: value })}
        />
      </Field>
      <Field label={text('filename')} hint={text('filenameHint')}>
        <input
          required={true}
          autoComplete="off"
          value={filename}
          onInput={({ currentTarget: { value } }) => onChange({ filename: value })}
        />
      </Field>
      <Field label={text('name')} hint={text('nameHint')}>
        <input autoComplete="off" value={name} onInput={({ currentTarget: { value } }) => onChange({ name: value })} />
      </Field>
    </div>
  );
}
