// Objects there and back with AWS's SDK for Java 2: puts, parts, copies, lists, URLs, deletes.

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.model.ChecksumAlgorithm;
import software.amazon.awssdk.services.s3.model.ChecksumMode;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.ObjectIdentifier;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

public class S3 {
  static void must(boolean fine, String what) {
    if (!fine) throw new IllegalStateException(what);
  }

  public static void main(String[] words) throws Exception {
    String bucket = words[0];
    byte[] own = Files.readAllBytes(Path.of(words[1]));
    URI endpoint = URI.create(System.getenv("AWS_ENDPOINT_URL"));
    S3Client client = S3Client.builder().region(Region.US_EAST_1).endpointOverride(endpoint)
        .forcePathStyle(true).build();
    for (ChecksumAlgorithm kind : List.of(ChecksumAlgorithm.CRC32, ChecksumAlgorithm.SHA1,
        ChecksumAlgorithm.SHA256)) {
      String key = "a b+c/é " + kind;
      client.putObject(put -> put.bucket(bucket).key(key).checksumAlgorithm(kind),
          RequestBody.fromString(key));
      must(client.getObjectAsBytes(get -> get.bucket(bucket).key(key)
          .checksumMode(ChecksumMode.ENABLED)).asUtf8String().equals(key), "another text");
    }
    int partSize = 5 << 20;
    String upload = client.createMultipartUpload(make -> make.bucket(bucket).key("big.bin"))
        .uploadId();
    List<CompletedPart> parts = new ArrayList<>();
    for (int at = 0; at < own.length; at += partSize) {
      int number = parts.size() + 1;
      byte[] bytes = Arrays.copyOfRange(own, at, Math.min(own.length, at + partSize));
      String tag = client.uploadPart(part -> part.bucket(bucket).key("big.bin").uploadId(upload)
          .partNumber(number), RequestBody.fromBytes(bytes)).eTag();
      parts.add(CompletedPart.builder().partNumber(number).eTag(tag).build());
    }
    client.completeMultipartUpload(end -> end.bucket(bucket).key("big.bin").uploadId(upload)
        .multipartUpload(all -> all.parts(parts)));
    client.copyObject(copy -> copy.sourceBucket(bucket).sourceKey("big.bin")
        .destinationBucket(bucket).destinationKey("copy"));
    must(Arrays.equals(client.getObjectAsBytes(get -> get.bucket(bucket).key("copy"))
        .asByteArray(), own), "other bytes");
    S3Presigner presigner = S3Presigner.builder().region(Region.US_EAST_1)
        .endpointOverride(endpoint)
        .serviceConfiguration(S3Configuration.builder().pathStyleAccessEnabled(true).build())
        .build();
    URI url = presigner.presignGetObject(sign -> sign.signatureDuration(Duration.ofMinutes(5))
        .getObjectRequest(get -> get.bucket(bucket).key("copy"))).url().toURI();
    must(Arrays.equals(HttpClient.newHttpClient().send(HttpRequest.newBuilder(url).build(),
        HttpResponse.BodyHandlers.ofByteArray()).body(), own), "other bytes by URL");
    List<ObjectIdentifier> keys = new ArrayList<>();
    client.listObjectsV2Paginator(list -> list.bucket(bucket).maxKeys(2)).contents()
        .forEach(each -> keys.add(ObjectIdentifier.builder().key(each.key()).build()));
    must(keys.size() == 5, "five keys");
    must(client.deleteObjects(gone -> gone.bucket(bucket).delete(all -> all.objects(keys)))
        .deleted().size() == 5, "five deleted");
  }
}
