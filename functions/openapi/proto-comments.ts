/** What the proto files say in comments: generated code has it for readers of TypeScript only. */
import { createFileRegistry, type DescFile, fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/**
 * Comments by the full name of what they stand before (messages, fields, enums and their
 * values), with the line breaks of a paragraph taken out.
 *
 * @param image a FileDescriptorSet with source information, as `buf build` writes it
 */
export function protoComments(image: Uint8Array): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  for (const file of createFileRegistry(fromBinary(FileDescriptorSetSchema, image)).files) {
    const before = commentsByPath(file.proto);
    for (const [name, path] of namesOf(file)) {
      const text = before.get(path.join());
      if (text !== undefined) comments.set(name, text);
    }
  }
  return comments;
}

/** Numbers of fields of FileDescriptorProto, DescriptorProto and EnumDescriptorProto, of which paths are made. */
const FILE = { messageType: 4, enumType: 5 } as const;
const MESSAGE = { field: 2, nestedType: 3, enumType: 4 } as const;
const ENUM_VALUE = 2;

function commentsByPath({ sourceCodeInfo }: FileDescriptorProto): ReadonlyMap<string, string> {
  return new Map(
    (sourceCodeInfo?.location ?? [])
      .map(({ path, leadingComments }) => [path.join(), tidy(leadingComments)] as const)
      .filter(([, text]) => text !== ''),
  );
}

/** Instructions to buf are for nobody else. */
function tidy(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => !line.startsWith('buf:lint:'))
    .join('\n')
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.replaceAll('\n', ' '))
    .join('\n\n');
}

type Named = readonly [fullName: string, path: readonly number[]];

function namesOf({ messages, enums }: DescFile): readonly Named[] {
  return [
    ...messages.flatMap((message, i) => namesOfMessage(message, [FILE.messageType, i])),
    ...enums.flatMap((each, i) => namesOfEnum(each, [FILE.enumType, i])),
  ];
}

function namesOfMessage(message: DescFile['messages'][number], path: readonly number[]): readonly Named[] {
  // Generated entries of maps stand among the nested messages of the file, and not of the descriptor.
  const nestedAt = (name: string): number => message.proto.nestedType.findIndex((each) => each.name === name);
  return [
    [message.typeName, path],
    ...message.fields.map(
      (field, i): Named => [`${message.typeName}.${field.name}`, [...path, MESSAGE.field, i]],
    ),
    ...message.nestedMessages.flatMap((nested) =>
      namesOfMessage(nested, [...path, MESSAGE.nestedType, nestedAt(nested.name)]),
    ),
    ...message.nestedEnums.flatMap((each, i) => namesOfEnum(each, [...path, MESSAGE.enumType, i])),
  ];
}

function namesOfEnum(desc: DescFile['enums'][number], path: readonly number[]): readonly Named[] {
  return [
    [desc.typeName, path],
    ...desc.values.map((value, i): Named => [`${desc.typeName}.${value.name}`, [...path, ENUM_VALUE, i]]),
  ];
}
