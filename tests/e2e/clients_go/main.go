// Objects there and back with AWS's SDK for Go 2: puts, parts, copies, lists, URLs, deletes.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func mustBe(fine bool, what string) {
	if !fine {
		must(0, fmt.Errorf("%s", what))
	}
}

func get(ctx context.Context, client *s3.Client, bucket, key string) []byte {
	answer := must(client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled}))
	return must(io.ReadAll(answer.Body))
}

func main() {
	ctx := context.Background()
	bucket, file := os.Args[1], os.Args[2]
	client := s3.NewFromConfig(must(config.LoadDefaultConfig(ctx)),
		func(o *s3.Options) { o.UsePathStyle = true })
	for _, kind := range types.ChecksumAlgorithm("").Values()[:5] {
		key := "a b+c/é " + string(kind)
		must(client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key,
			Body: bytes.NewReader([]byte(kind)), ChecksumAlgorithm: kind}))
		mustBe(string(get(ctx, client, bucket, key)) == string(kind), "other text of "+key)
	}
	own := must(os.ReadFile(file))
	uploader := manager.NewUploader(client, func(u *manager.Uploader) { u.PartSize = 5 << 20 })
	must(uploader.Upload(ctx, &s3.PutObjectInput{
		Bucket: &bucket, Key: aws.String("big.bin"), Body: bytes.NewReader(own)}))
	mustBe(bytes.Equal(get(ctx, client, bucket, "big.bin"), own), "other bytes")
	must(client.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: &bucket, Key: aws.String("copy"), CopySource: aws.String(bucket + "/big.bin")}))
	buffer := manager.NewWriteAtBuffer(nil)
	must(manager.NewDownloader(client).Download(ctx, buffer,
		&s3.GetObjectInput{Bucket: &bucket, Key: aws.String("copy")}))
	mustBe(bytes.Equal(buffer.Bytes(), own), "other bytes of the copy")
	url := must(s3.NewPresignClient(client).PresignGetObject(ctx,
		&s3.GetObjectInput{Bucket: &bucket, Key: aws.String("copy")})).URL
	mustBe(must(http.Get(url)).StatusCode == 200, "presigned GET")
	pages := s3.NewListObjectsV2Paginator(client,
		&s3.ListObjectsV2Input{Bucket: &bucket, MaxKeys: aws.Int32(3)})
	var keys []types.ObjectIdentifier
	for pages.HasMorePages() {
		for _, each := range must(pages.NextPage(ctx)).Contents {
			keys = append(keys, types.ObjectIdentifier{Key: each.Key})
		}
	}
	mustBe(len(keys) == 7, "seven keys")
	gone := must(client.DeleteObjects(ctx,
		&s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: keys}}))
	mustBe(len(gone.Deleted) == 7, "seven deleted")
}
